#!/bin/sh
# Prints an admin token for the Admin API: HS256, signed with SERVER_SECRET_KEY. Needs a POSIX shell and openssl.
#   scripts/generate_jwt_token.sh [lifetime in seconds, default 86400]
# The secret is read from the environment, else from .env in the working directory, else from the file that the server
# generated in DATA_DIR.
set -eu

fail() {
  echo "generate_jwt_token.sh: $1" >&2
  exit 1
}

# Prints the value of a setting in .env as Bun reads it: without quotes and without a trailing comment.
from_dotenv() {
  [ -r .env ] || return 0
  line=$(sed -n "s/^[[:space:]]*\(export[[:space:]][[:space:]]*\)\{0,1\}$1[[:space:]]*=[[:space:]]*//p" .env | tail -n 1)
  case $line in
    \'*) value=${line#\'} value=${value%%\'*} ;;
    \"*) value=${line#\"} value=${value%%\"*} ;;
    *) value=$(printf '%s\n' "$line" | sed -e 's/[[:space:]]#.*$//' -e 's/[[:space:]]*$//') ;;
  esac
  case $line in
    \'*) ;;
    *'$'* | *\\*) fail "$1 in .env contains a \$ or a backslash, which this script cannot expand: set it in the environment" ;;
  esac
  printf %s "$value"
}

base64url() {
  openssl base64 -A | tr '+/' '-_' | tr -d '='
}

lifetime=${1:-86400}
case $lifetime in
  '' | *[!0-9]* | ??????????*) fail "the lifetime is \"$lifetime\"; give a whole number of seconds" ;;
esac
command -v openssl >/dev/null 2>&1 || fail "openssl is not installed"

secret=${SERVER_SECRET_KEY:-}
[ -n "$secret" ] || secret=$(from_dotenv SERVER_SECRET_KEY)
if [ -z "$secret" ]; then
  data_dir=${DATA_DIR:-}
  [ -n "$data_dir" ] || data_dir=$(from_dotenv DATA_DIR)
  file=${data_dir:-data}/server_secret_key
  [ -r "$file" ] || fail "no secret found; set SERVER_SECRET_KEY to the server's, or run this where $file exists (start the server once)"
  secret=$(cat "$file")
fi

now=$(date +%s)
header=$(printf '{"alg":"HS256","typ":"JWT"}' | base64url)
payload=$(printf '{"sub":"admin","iat":%d,"exp":%d}' "$now" "$((now + lifetime))" | base64url)
# The key is passed as hex, so that openssl does not interpret any of its bytes as an option or a separator.
key=$(printf %s "$secret" | od -An -v -tx1 | tr -d ' \n')
signature=$(printf %s "$header.$payload" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64url)
printf '%s.%s.%s\n' "$header" "$payload" "$signature"
