#!/bin/sh
# From a running service to a verified request, and to a refused one after the revocation:
#
#   sh examples/first-request.sh
#
# KEYRAIL_URL names the service (default http://127.0.0.1:8080), SERVICE_DATA_DIR its data (default ./data).
# No secret is printed whole; the workspace's own key is in a file for the dashboard.
set -eu
cd "$(dirname "$0")/.."

KEYRAIL_URL=${KEYRAIL_URL:-http://127.0.0.1:8080}
token_file=${SERVICE_DATA_DIR:-data}/bootstrap-token
api_log=$(mktemp)
api_pid=
trap 'if [ -n "$api_pid" ]; then kill "$api_pid" 2>/dev/null || true; fi; rm -f "$api_log"' EXIT
trap 'exit 130' INT TERM

fail() {
  echo "$1" >&2
  exit 1
}

# Sends a request and keeps its status and answer. Usage: request METHOD URL [CREDENTIAL [BODY]]
request() {
  heard=$(curl -sS -w '%{http_code}' -X "$1" "$2" -H "Authorization: Bearer ${3:-}" \
    -H 'Content-Type: application/json' ${4:+-d "$4"}) || fail "No answer from $2. Is the service running (npm start)?"
  answer=${heard%???}
  status=${heard#"$answer"}
}

# A request of the management API, which must succeed. Usage: post PATH CREDENTIAL BODY
post() {
  request POST "$KEYRAIL_URL/v1/$1" "$2" "$3"
  case $status in 2??) ;; *) fail "POST /v1/$1 was refused: $answer" ;; esac
}

# A field of the last answer. Usage: field secret_key.key
field() {
  printf '%s' "$answer" | node -pe "JSON.parse(require('fs').readFileSync(0, 'utf8')).$1"
}

step() {
  printf '%-10s %-38s %s\n' "$1" "$2" "$3"
}

[ -r "$token_file" ] || fail "$token_file is missing. Start the service first: npm start"
slug=first-$(date +%s)-$$

post workspaces "$(cat "$token_file")" "{\"name\":\"Acme\",\"slug\":\"$slug\"}"
owner_key=$(field secret_key.key)
step Workspace "$(field id)" 'your account, with its first secret key'

post projects "$owner_key" '{"name":"Payments","slug":"payments"}'
project=$(field id)
step Project "$project" 'the API that you protect'

post tenants "$owner_key" '{"external_id":"org_17","name":"Globex"}'
tenant=$(field id)
step Tenant "$tenant" 'a customer of yours'

post keys "$owner_key" "{\"project_id\":\"$project\",\"tenant_id\":\"$tenant\",\"env\":\"live\"}"
key_id=$(field id)
key=$(field key)
step Key "$(field display_prefix)..." 'what that customer sends'

post secret_keys "$owner_key" "{\"env\":\"live\",\"preset\":\"node\",\"project_ids\":[\"$project\"]}"
node_key=$(field key)
step 'Node key' "$(field display_prefix)..." 'what your server needs, and no more'

# Adds the packages that examples need, once, and says so.
node bin/node.mjs -e 0
PORT=0 KEYRAIL_URL=$KEYRAIL_URL KEYRAIL_SECRET_KEY=$node_key KEYRAIL_PROJECT=$project \
  node bin/node.mjs examples/vendor-api/server.ts >"$api_log" 2>&1 &
api_pid=$!
until api=$(sed -n 's/^The payments API listens on //p' "$api_log" | grep .); do
  kill -0 "$api_pid" 2>/dev/null || fail "The API did not start: $(cat "$api_log")"
  sleep 1
done
step API "$api" 'examples/vendor-api'

request GET "$api/payments" "$key"
step Request "GET /payments" "$status, for customer $(field customer)"
post "keys/$key_id/revoke?wait=true" "$owner_key" '{"reason":"contract ended"}'
step Revoke "$(field display_prefix)..." "acknowledged by $(field propagation.nodes_acknowledged) of $(field propagation.nodes) nodes"
request GET "$api/payments" "$key"
step Request "GET /payments" "$status, $(field code)"

# The workspace has no members yet: who shows its first secret key in the dashboard becomes its owner.
key_file=${SERVICE_DATA_DIR:-data}/first-request-key
(umask 077 && printf '%s\n' "$owner_key" >"$key_file")
step Dashboard "$KEYRAIL_URL/app/workspaces/adopt" "yours with the secret key in $key_file"
