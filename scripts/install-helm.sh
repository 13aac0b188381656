#!/usr/bin/env bash
# Installs the helm command, which the tests of the Helm chart run, into a directory: scripts/install-helm.sh DIRECTORY
# Debian does not package helm, so it is built from source with Go, fetched through the Go module proxy, which checks the
# checksums of all modules. Takes about 3 minutes on two cores, and a temporary gigabyte of disk space.
set -euo pipefail
HELM_VERSION=v3.22.0
# Used if Go is not installed. From 1.21 on, an installed Go fetches the version that Helm needs by itself.
GO_VERSION=1.26.8
declare -A GO_SHA256=(
  [amd64]=30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7
  [arm64]=02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99
)

[ $# -eq 1 ] || { echo "usage: scripts/install-helm.sh DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
target=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

if ! command -v go >/dev/null; then
  case $(uname -m) in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) echo "install-helm: install Go first; there is no download for $(uname -m)" >&2; exit 1 ;;
  esac
  name=v0.0.1-go$GO_VERSION.linux-$architecture
  curl -sSfL --max-time 300 -o "$work/go.zip" "https://proxy.golang.org/golang.org/toolchain/@v/$name.zip"
  echo "${GO_SHA256[$architecture]}  $work/go.zip" | sha256sum --check --quiet
  unzip -q "$work/go.zip" -d "$work"
  go=$work/golang.org/toolchain@$name
  # Module archives do not keep permissions.
  chmod +x "$go"/bin/* "$go"/pkg/tool/*/*
  export PATH=$go/bin:$PATH
fi

GOBIN=$target GOPATH=$work/path GOCACHE=$work/cache GOFLAGS=-modcacherw \
  go install "helm.sh/helm/v3/cmd/helm@$HELM_VERSION"
"$target/helm" version --short
