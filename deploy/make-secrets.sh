#!/bin/sh
# Makes the secrets that compose.yaml mounts, in the folder `secrets` beside this file. It replaces none that exists.
#
# The folder is closed to other accounts of the machine. The files are readable, because the service runs under another
# account in its container.
set -eu
cd "$(dirname "$0")"
umask 022
mkdir -p secrets
chmod 700 secrets
cd secrets

make() { [ -s "$1" ] || printf '%s\n' "$2" >"$1"; }

make postgres-password "$(openssl rand -hex 24)"
make service-password "$(openssl rand -hex 24)"
make owner-password "$(openssl rand -hex 24)"
# For keyrail migrate; the service gets the other one.
make owner-url "postgres://keyrail_owner:$(cat owner-password)@postgres:5432/keyrail"
make database-url "postgres://keyrail:$(cat service-password)@postgres:5432/keyrail"
make encryption-key "$(openssl rand -base64 32)"
make bootstrap-token "$(openssl rand -hex 32)"
make grafana-password "$(openssl rand -hex 24)"
# The mail catcher of the profile `dev`. Replace it by your mail server, as docs/mail.md says.
make mail-url smtp://mail:1025
