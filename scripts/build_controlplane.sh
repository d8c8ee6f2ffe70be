#!/usr/bin/env bash
# Builds the real control plane of the end-to-end tests (kube-apiserver, kube-controller-manager, etcd) from the Go
# modules in tests/controlplane, once: the binaries go to a cache folder named after the modules.
#   --where   print that folder and build nothing
set -euo pipefail
cd "$(dirname "$0")/../tests/controlplane"
digest=$(cat kubernetes/go.mod kubernetes/go.sum etcd/go.mod etcd/go.sum etcd/main.go | sha256sum | cut -c1-16)
folder=${GITOPS_VG_CONTROLPLANE:-${XDG_CACHE_HOME:-$HOME/.cache}/gitops-vg/controlplane/$digest}
if [ "${1:-}" = "--where" ]; then
    echo "$folder"
    exit 0
fi
complete() { [ -x "$folder/kube-apiserver" ] && [ -x "$folder/kube-controller-manager" ] && [ -x "$folder/etcd" ]; }
if complete; then
    exit 0
fi
if ! command -v go >/dev/null; then
    echo "The end-to-end tests build a real kube-apiserver and need Go 1.26 or newer: there is no go on the PATH." >&2
    exit 1
fi
# go.mod names the version; GOTOOLCHAIN=local keeps an older Go from fetching another by itself.
export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS=-buildvcs=false
if ! (cd kubernetes && go list -m >/dev/null 2>&1); then
    echo "The end-to-end tests need Go 1.26 or newer; this is $(go version)." >&2
    exit 1
fi
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "building kube-apiserver, kube-controller-manager and etcd into $folder (minutes, once)" >&2
(cd kubernetes && go build -trimpath -ldflags '-s -w' -o "$work/" \
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager)
(cd etcd && go build -trimpath -ldflags '-s -w' -o "$work/etcd" .)
chmod 755 "$work"
# Another build may have finished meanwhile: one of them wins whole.
mv -T "$work" "$folder" 2>/dev/null || complete
trap - EXIT
rm -rf "$work"
