// The command names of the shell patterns, grouped by how much context distinguishes a command from a word.
import { splitWords } from "../keyword-set.ts";

/** Names that are not English words: a separator before them is enough. */
export const PLAIN_COMMANDS: ReadonlySet<string> = new Set(
  splitWords(`
    ab adduser aptitude arping awk base32 base64 bash bcdboot bzip2 certutil chgrp chmod chown chroot cmd cpulimit crontab cscli csh dash dd df dmesg dpkg
    du egrep fgrep gawk gcc gdb getent getfacl gzip halt htop hostname hping3 iconv ifconfig insmod iptables irb iwmi iwr journalctl jq kill killall ksh lastlog lastlogin ldconfig ldd lsof ls lsb_release
    lua lwp-request lynx md5sum mkdir mkfifo mknod mshta mv nano nc ncat netcat netstat nmap nohup nslookup od openssl passwd pcregrep perl pgrep php ping pkexec pkill reboot poweroff
    ps pwd pwsh powershell printenv pv python python2 python3 rbash rm rmdir rmt rmt-tar rmt-dump rsync ruby rundll32 regsvr32 scp sed setfacl sftp sh sha256sum sha1sum shutdown socat ss ssh
    strace su sudo sysctl systemctl tac tar tasklist taskkill tcpdump tcsh telnet tftp tftpd tee traceroute tshark ulimit umount uname uniq unlink unzip useradd userdel usermod uudecode uuencode
    vi vim vimdiff visudo wc wget wmic whoami whereis xargs xxd xz yum zcat zip zsh zstdcat zgrep ansible ansible-playbook ansible-pull ansible-config ansible-galaxy ansible-console ansible-doc chef-client chef-run curl grep
    apt apt-get brew cp ln id env dig flock perf busybox bzcat gunzip lsattr mawk nice rlwrap stdbuf timeout watch xdg-open ll bitsadmin cscript wscript reg netsh nltest ipconfig systeminfo schtasks icacls
  `),
);

/** Names that are also English words: an option, a path, a variable or a redirection must follow. */
export const WORD_COMMANDS: ReadonlySet<string> = new Set(
  splitWords(`
    alias at cat cd comm cut date diff dir del echo eval exec exit export expr file find fold free head history host join kill last less locate login look mail man more mount move
    net nl paste patch printf read rename reset rev route screen set shred sleep sort source split stat strings sum sync tail test time top touch tr tree type
    users view w wait wall watch wall which who write yes copy attrib call for while
  `),
);

export const COMMANDS: ReadonlySet<string> = new Set([...PLAIN_COMMANDS, ...WORD_COMMANDS]);

/** Commands that run another command given as their argument. */
export const PREFIX_COMMANDS: readonly string[] = splitWords(`
  sudo nohup strace time timeout xargs env nice exec command flock cpulimit ltrace setsid busybox
`);
/** Commands that take files. Without a path after them they may be words. */
export const FILE_COMMANDS: readonly string[] = splitWords(`
  cat tac nl less more head tail strings xxd od hexdump base64 base32 ls ll dir cp mv rm ln dd tee touch mkdir rmdir stat file find grep egrep awk sed cut sort rev chmod chown chgrp cd vi vim nano
  zcat zstdcat bzcat xzcat unxz gunzip unzip tar source bash sh zsh ksh dash perl python python3 ruby php diff comm paste shred unlink truncate install mount readlink type more copy del
`);
