#!/bin/sh
# Runs a command of Keyrail as keyrail.service runs: with its account, its settings and its data directory. systemd reads
# the files of the settings, as it does for the unit. docs/deploy.md says how to install it.
set -eu

# What needs the login that owns the tables, where there are two.
owner=
case "${1-}" in
  migrate | backup | restore | workspace | person) owner=--property=EnvironmentFile=-/etc/keyrail/owner ;;
esac

# With both --pty and --pipe systemd takes what fits: a terminal, or the files and pipes of the caller.
exec systemd-run --quiet --collect --wait --pty --pipe --uid=keyrail --working-directory=/opt/keyrail \
  --setenv=SERVICE_DATA_DIR=/var/lib/keyrail-data \
  --property=StateDirectory=keyrail-data --property=StateDirectoryMode=0700 --property=UMask=0077 \
  --property=EnvironmentFile=-/etc/keyrail/environment ${owner:+"$owner"} \
  /opt/keyrail/bin/keyrail.mjs "$@"
