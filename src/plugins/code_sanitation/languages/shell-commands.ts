// The command names of the shell patterns, grouped by how much context distinguishes a command from a word.
import { splitWords } from "../keyword-set.ts";

/** Names that are neither English words nor usual identifiers: a separator before them is enough. */
const TOOL_NAMES: readonly string[] = splitWords(`
  adduser ansible ansible-config ansible-console ansible-doc ansible-galaxy ansible-playbook ansible-pull
  apt-get aptitude arping base32 base64 bcdboot bitsadmin busybox bzcat bzip2 certutil chef-client chef-run
  chgrp chmod chown chroot cpulimit crontab cscli cscript csh dmesg dpkg egrep fgrep gawk gdb getent getfacl
  gunzip hping3 htop icacls iconv ifconfig insmod ipconfig iptables iwmi iwr journalctl killall ksh lastlog
  lastlogin ldconfig ldd ll lsattr lsb_release lsof lwp-request lynx mawk md5sum mkdir mkfifo mknod mshta
  mv nc ncat netcat netsh netstat nltest nmap nohup nslookup openssl pcregrep pgrep pkexec pkill poweroff
  powershell printenv pwd pwsh python2 python3 rbash rdesktop reboot regsvr32 rlwrap rm rmdir rmt rmt-dump
  rmt-tar rsync rundll32 scp schtasks sed setfacl setsid sftp sha1sum sha256sum socat ssh stdbuf strace
  sysctl systemctl systeminfo tac taskkill tasklist tcpdump tcsh telnet tftp tftpd traceroute tshark ulimit
  umount uname uniq unlink unxz unzip useradd userdel usermod uudecode uuencode vim vimdiff visudo wc wget
  whereis whoami wmic wscript xargs xdg-open xxd xz xzcat yum zcat zgrep zsh zstdcat
`);

/** Names that are also identifiers in programs or abbreviations in prose: an argument or the end of the text must follow. */
const SHORT_NAMES: readonly string[] = splitWords(`
  ab apt awk bash brew cmd cp curl dash dd df dig du env expr flock gcc grep gzip halt hostname id irb jq kill
  ln ls lua nano nice od passwd perf perl php ping ps pv python reg ruby sh shutdown ss su sudo tar tee timeout vi
  watch zip
`);

/** Names that are also English words: an option, a path, a variable or a redirection must follow. */
export const WORD_COMMANDS: ReadonlySet<string> = new Set(
  splitWords(`
    alias at attrib call cat cd comm copy cut date del diff dir echo eval exec exit export file find fold free
    head history host join last less locate login look mail man more mount move net nl paste patch printf read
    rename reset rev route screen set shred sleep sort source split stat strings sum sync tail test time top
    touch tr tree type users view wait wall which who write yes
  `),
);

/** English words that are seldom the first word in parentheses or backticks, unless a command is substituted. */
export const SUBSTITUTED_WORDS: readonly string[] = splitWords(`
  cat cut date dir echo find head nl printf rev sleep stat tail tr who
`);

export const AMBIGUOUS_COMMANDS: ReadonlySet<string> = new Set(SHORT_NAMES);
export const PLAIN_COMMANDS: ReadonlySet<string> = new Set([...TOOL_NAMES, ...SHORT_NAMES]);
export const COMMANDS: ReadonlySet<string> = new Set([...PLAIN_COMMANDS, ...WORD_COMMANDS]);

/** Commands that build instructions and scripts chain with `&&`. */
export const BUILD_COMMANDS: readonly string[] = splitWords(`
  apt apt-get brew cp gcc mkdir mv perl php python python2 python3 ruby sed tar unzip yum zip
`);
/** Languages and tools that texts compare with each other: "PHP & Perl". */
export const COMPARED_TOOLS: readonly string[] = splitWords(`
  apt bash brew curl gcc grep gzip jq lua nano perl php ping python python3 ruby sed sh ssh tar vi vim wget zip zsh
`);
/** Commands whose argument may be any name. */
export const NAME_COMMANDS: readonly string[] = splitWords(`curl dig ls ping su`);

/** Commands that run another command given as their argument. */
export const PREFIX_COMMANDS: readonly string[] = splitWords(`
  sudo nohup strace time timeout xargs env nice exec command flock cpulimit ltrace setsid busybox
`);
/** Commands that take files. Without a path after them they may be words. */
export const FILE_COMMANDS: readonly string[] = splitWords(`
  awk base32 base64 bash bzcat cat chgrp chmod chown comm copy cp cut dash dd del diff egrep find grep gunzip
  head hexdump install ksh less ll ln ls mkdir more mount mv nano nl od paste perl php python python3 readlink rev
  rm rmdir ruby sed sh shred sort source stat strings tac tail tar tee touch truncate type unlink unxz unzip vi vim
  xxd xzcat zcat zsh zstdcat
`);
