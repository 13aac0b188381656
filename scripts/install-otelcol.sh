#!/usr/bin/env bash
# Installs a small OpenTelemetry Collector, which the test with a real collector runs, into a directory:
# scripts/install-otelcol.sh DIRECTORY
# It has only the OTLP receiver and the debug exporter. Debian does not package the collector, so it is built from source with Go
# 1.25 or newer, which verifies the checksums of all modules. Takes about 3 minutes on two cores, and a temporary gigabyte of disk
# space.
set -euo pipefail
# The two versions of one release: modules below 1.0 and stable modules.
VERSION=v0.150.0
STABLE_VERSION=v1.56.0

[ $# -eq 1 ] || { echo "usage: scripts/install-otelcol.sh DIRECTORY" >&2; exit 2; }
command -v go >/dev/null || { echo "install-otelcol: Go is not installed; install Go 1.25 or newer, or otelcol itself" >&2; exit 1; }
mkdir -p "$1"
target=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export GOPATH=$work/path GOCACHE=$work/cache GOFLAGS=-modcacherw

go install "go.opentelemetry.io/collector/cmd/builder@$VERSION"
cat >"$work/builder.yaml" <<END
dist:
  name: otelcol
  version: ${VERSION#v}
  output_path: $work/dist
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver $VERSION
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/debugexporter $VERSION
providers:
  - gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider $STABLE_VERSION
  - gomod: go.opentelemetry.io/collector/confmap/provider/envprovider $STABLE_VERSION
END
"$work/path/bin/builder" --config "$work/builder.yaml"
install "$work/dist/otelcol" "$target/otelcol"
"$target/otelcol" --version
