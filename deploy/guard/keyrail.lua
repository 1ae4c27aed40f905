-- Asks the guard about a request, for `http-request lua.keyrail ADDRESS`. haproxy.cfg shows it; docs/guard.md explains it.

local identity = { "x-keyrail-tenant", "x-keyrail-external-id", "x-keyrail-key", "x-keyrail-scopes" }
-- Headers with a key: GUARD_KEY_HEADERS.
local credentials = { "authorization", "x-api-key" }
local secret = os.getenv("GUARD_SECRET")

local unavailable = '{"type":"about:blank","title":"Service Unavailable","status":503,'
  .. '"detail":"API keys cannot be verified now","code":"guard_unavailable"}'

local function values_of(headers, name)
  local values = {}
  local at = headers[name]
  -- HAProxy counts them from 0.
  local index = 0
  while at and at[index] do
    values[#values + 1] = at[index]
    index = index + 1
  end
  return values
end

local function first_of(answer, name)
  local at = answer.headers and answer.headers[name]
  return at and at[0]
end

local function refuse(txn, status, headers, body)
  local reply = txn:reply({ status = status })
  for name, value in pairs(headers) do
    reply:add_header(name, value)
  end
  reply:set_body(body)
  txn:done(reply)
end

local function ask(txn, address)
  local sent = txn.http:req_get_headers()
  -- For a table of routes: GUARD_METHOD_HEADER and GUARD_URI_HEADER name the first two; for keys with networks GUARD_IP_HEADER the third.
  -- Nothing else of the client is handed over.
  local headers = {
    ["x-original-method"] = { txn.f:method() },
    ["x-original-uri"] = { txn.f:pathq() },
    ["x-original-ip"] = { tostring(txn.f:src()) },
  }
  for _, name in ipairs(credentials) do
    local values = values_of(sent, name)
    if #values > 0 then
      headers[name] = values
    end
  end
  if secret then
    headers["x-keyrail-guard-secret"] = { secret }
  end
  return core.httpclient():get({ url = address, headers = headers, timeout = 5000 })
end

core.register_action("keyrail", { "http-req" }, function(txn, address)
  local answer = ask(txn, address)
  local status = answer and answer.status or 0
  if status == 200 then
    for _, name in ipairs(identity) do
      txn.http:req_set_header(name, first_of(answer, name) or "")
    end
    local limit = first_of(answer, "ratelimit")
    if limit then
      txn:set_var("txn.keyrail_limit", limit)
      txn:set_var("txn.keyrail_policy", first_of(answer, "ratelimit-policy") or "")
    end
    return
  end
  local headers = { ["content-type"] = "application/problem+json", ["cache-control"] = "no-store" }
  if status ~= 401 and status ~= 403 and status ~= 429 and status ~= 503 or not first_of(answer, "x-keyrail-problem") then
    -- The guard is away, or refuses how this file asks.
    return refuse(txn, 503, headers, unavailable)
  end
  for _, name in ipairs({ "www-authenticate", "retry-after", "ratelimit", "ratelimit-policy" }) do
    headers[name] = first_of(answer, name)
  end
  refuse(txn, status, headers, answer.body)
end, 1)
