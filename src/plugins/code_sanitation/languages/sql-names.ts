// Names in SQL injection: functions, stored procedures and system tables.
import { splitWords } from "../keyword-set.ts";

/** Functions that conditions of an injection call to reveal data or to delay the query. Most of them are ordinary elsewhere. */
export const REVEALING_FUNCTIONS = new Set(
  splitWords(`
  user version database sleep char chr nchar substring substr mid left right lower upper ascii ord hex unhex if iif
  ifnull nullif db_name concat concat_ws group_concat load_file lpad rpad benchmark pg_sleep updatexml extractvalue
  elt make_set json_extract json_depth json_keys likely unlikely likelihood glob current_user system_user
  session_user xmltype isnull utl_inaddr connection_id last_insert_id row cast convert sqlite_version to_char
  strcmp locate instr randomblob unistr schema found_rows row_count coalesce bin conv length starts_with overlay
  cos sin pi floor rand md5 sha1 soundex coercibility exists user_name sys_context replace trim count strcomp
`),
);

/** Functions that probe, delay, read files or exfiltrate data. Ordinary queries rarely call them. */
export const PROBING_FUNCTIONS = splitWords(`
  pg_sleep extractvalue updatexml name_const xmltype uncompress json_depth load_extension pg_read_file
  pg_ls_dir lo_import openrowset opendatasource fn_varbintohexstr randomblob zeroblob sqlite_compileoption_get
  gtid_subset make_set multipolygon
`);

/** Functions that a field may start with to probe a database. In the middle of a text they are ordinary. */
export const LEADING_FUNCTIONS = splitWords(`
  group_concat concat_ws unhex find_in_set aes_decrypt aes_encrypt db_name sys_context dblink openquery quotename
  user_name current_user session_user system_user sysdate unistr starts_with sqlite_version unlikely likelihood
  row_count found_rows get_lock elt geometrycollection linestring convert_tz string_to_array host_name suser_sname
  coercibility
`);

/** Functions and variables that describe the server. */
export const SERVER_FUNCTIONS = splitWords(`
  version user database schema current_user session_user system_user current_database current_schema current_setting
  user_name db_name host_name suser_sname sqlite_version connection_id inet_server_addr load_file sleep benchmark
  pg_sleep char iif sys_context
`);

/** Procedures that run commands, read the registry or create logins. */
export const PROCEDURES = splitWords(`
  xp_cmdshell xp_regread xp_regwrite xp_dirtree xp_fileexist xp_servicecontrol sp_oacreate sp_oamethod
  sp_makewebtask sp_addextendedproc sp_password sp_addlogin sp_addsrvrolemember sp_add_job sp_executesql
`);

/** Tables and packages of database servers. */
export const SYSTEM_TABLES = splitWords(`
  information_schema mysql.user mysql.db mysql.innodb sqlite_master sqlite_schema sqlite_temp_master pg_catalog.
  pg_shadow pg_user pg_group pg_database sysobjects syscolumns sysusers sys.databases sys.objects sys.user master..
  master.dbo msysaccessobjects msysobjects msysaces all_tab_columns all_users user_tab_columns dba_users v$version
  sysibm. syscat. rdb$ domain.domains tempdb.. mysql.
`);

/** Oracle packages that open connections, read files or wait. */
export const PACKAGES = splitWords(`
  utl_inaddr. utl_http. utl_file. utl_smtp. dbms_pipe. dbms_lock. dbms_java. dbms_xmlgen. dbms_ldap. dbms_utility.
  ctxsys.
`);

/** Functions whose call the injected text leaves open, so that the surrounding query closes it. */
export const UNCLOSED_CALLS = splitWords(`
  database version user concat convert insert rand rtrim ltrim substr substring replace floor format values char
  ascii hex mid count min max avg sum execute length local minute default cast left right lower upper round if
  sleep month year day curdate now load_file
`);
