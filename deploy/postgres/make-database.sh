#!/bin/bash
# Postgres' image runs this once, on a new volume. It makes what `keyrail roles` prints: keyrail_owner owns the tables and
# migrates; keyrail serves, and can neither change nor delete a row of the audit log. keyrail_check stays empty: backups are checked there.
set -euo pipefail
psql --username "${POSTGRES_USER:-postgres}" --dbname postgres --set ON_ERROR_STOP=1 \
  --set owner_password="$(cat /run/secrets/owner-password)" \
  --set service_password="$(cat /run/secrets/service-password)" <<'SQL'
create role "keyrail_owner" login;
create role "keyrail" login;
create database "keyrail" owner "keyrail_owner";
create role keyrail_app nologin noinherit;
grant keyrail_app to "keyrail_owner";
create role keyrail_serve nologin;
grant keyrail_app, keyrail_serve to "keyrail";
create database "keyrail_check" owner "keyrail_owner";
alter role keyrail_owner password :'owner_password';
alter role keyrail password :'service_password';
SQL
