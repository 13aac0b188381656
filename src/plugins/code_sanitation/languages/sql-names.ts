// Names in SQL injection: functions, stored procedures and system catalogs.
import { splitWords } from "../keyword-set.ts";

/** Functions that probe, delay, read files or exfiltrate data. Their names do not occur in prose. */
export const PROBING_FUNCTIONS = [
  "procedure analyse",
  ...splitWords(`
  pg_sleep extractvalue updatexml load_file name_const xmltype group_concat concat_ws unhex
  uncompress find_in_set json_keys json_depth aes_decrypt aes_encrypt db_name sys_context load_extension
  pg_read_file pg_ls_dir lo_import dblink openrowset opendatasource openquery fn_varbintohexstr quotename
  user_name current_user session_user system_user sysdate unistr starts_with randomblob sqlite_version
  zeroblob sqlite_compileoption_get unlikely likelihood row_count found_rows gtid_subset get_lock elt
  make_set geometrycollection multipolygon linestring convert_tz string_to_array host_name suser_sname
`),
];

export const PROCEDURES = splitWords(`
  xp_cmdshell xp_regread xp_regwrite xp_dirtree xp_fileexist xp_servicecontrol sp_executesql sp_oacreate
  sp_oamethod sp_makewebtask sp_configure sp_addextendedproc sp_password sp_prepare sp_addlogin
  sp_addsrvrolemember
`);

export const SYSTEM_CATALOGS = [
  "information_schema",
  "mysql.user",
  "mysql.db",
  "mysql.innodb",
  "sqlite_master",
  "sqlite_schema",
  "sqlite_temp_master",
  "pg_catalog.",
  "pg_shadow",
  "pg_user",
  "sysobjects",
  "syscolumns",
  "sysusers",
  "sys.databases",
  "sys.objects",
  "sys.user",
  "master..",
  "master.dbo",
  "msysaccessobjects",
  "msysobjects",
  "msysaces",
  "all_tab_columns",
  "user_tab_columns",
  "dba_users",
  "v$version",
  "utl_inaddr.",
  "utl_http.",
  "utl_file.",
  "dbms_pipe.",
  "dbms_lock.",
  "dbms_java.",
  "dbms_xmlgen.",
  "dbms_ldap.",
  "dbms_utility.",
  "ctxsys.",
  "tempdb..",
  "benchmark(",
  "table_schema",
  "schemata",
];

/** Functions whose call the injected text leaves open, so that the surrounding query closes it. */
export const UNCLOSED_CALLS = splitWords(`
  database version user concat convert insert rand rtrim ltrim substr substring replace floor format values
  char ascii hex mid count min max avg sum execute length local minute default cast left right lower upper
  round if sleep month year day curdate now
`);
