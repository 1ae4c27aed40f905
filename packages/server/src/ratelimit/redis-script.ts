import { createHash } from 'node:crypto'
import { graceMs, mostCounters } from './store.ts'

/**
 * Decides a batch of checks in one step, in the order of their arrival. `KEYS` are the subjects. `ARGV[1]` is JSON,
 * `[policies, checks]`: a policy is `[[counter, window, limit, is fixed, scope], …]` with scope 1 for the key and 2 for the
 * tenant, and a check is `[cost, its policy, its key, its tenant]`, the last two as indexes in KEYS. `ARGV[2]` is empty, or a time
 * that replaces the server's clock. Numbers are doubles as in `window.ts`, whose arithmetic this script repeats. A key holds
 * a version, then four values for each counter: name, start, previous, current. The script returns numbers only: the time,
 * then for each check 1 or 0 and the three values of each cell.
 *
 * The first line makes Redis 7 check before the script starts whether it may write: a server that is full, or a replica,
 * refuses the whole batch. A foreign value under a key counts as empty, and is overwritten.
 */
export const script = `#!lua
local policies, checks = unpack(cjson.decode(ARGV[1]))
local given = tonumber(ARGV[2])
local now = given
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local floor = math.floor

local function mulDivDown(a, b, c)
  local high = floor(a / 65536)
  local product = high * b
  local quotient = floor(product / c)
  local rest = (product - quotient * c) * 65536 + (a - high * 65536) * b
  return quotient * 65536 + floor(rest / c)
end

local function cellAt(cell, window)
  local start = floor(now / window) * window
  if cell and start <= cell[1] then return cell end
  if cell and start - window == cell[1] then return { start, cell[3], 0 } end
  return { start, 0, 0 }
end

local function used(cell, window, isFixed)
  if isFixed then return cell[3] end
  local elapsed = math.max(0, now - cell[1])
  return cell[3] + cell[2] - mulDivDown(elapsed, cell[2], window)
end

local function read(value)
  local counters = {}
  if not value then return counters end
  local isPacked, flat = pcall(cmsgpack.unpack, value)
  if not isPacked or type(flat) ~= 'table' or flat[1] ~= 1 then return counters end
  for i = 2, #flat, 4 do counters[flat[i]] = { flat[i + 1], flat[i + 2], flat[i + 3] } end
  return counters
end

-- What a counter's name ends with. Most counters that are written belong to a rule of the batch.
local windows = {}
for _, rules in ipairs(policies) do
  for _, rule in ipairs(rules) do windows[rule[1]] = rule[2] end
end

local function endOf(name, cell)
  local window = windows[name] or tonumber(string.match(name, '%d+$'))
  return cell[1] + 2 * window + ${graceMs}
end

local function dropFirstEnding(counters)
  local kept = {}
  for name, cell in pairs(counters) do kept[#kept + 1] = { endOf(name, cell), name } end
  table.sort(kept, function(a, b) return a[1] > b[1] end)
  for i = ${mostCounters} + 1, #kept do counters[kept[i][2]] = nil end
end

local function write(key, counters)
  local count = 0
  for name, cell in pairs(counters) do
    if endOf(name, cell) > now then count = count + 1 else counters[name] = nil end
  end
  if count > ${mostCounters} then dropFirstEnding(counters) end
  local flat, n, last = { 1 }, 1, now
  for name, cell in pairs(counters) do
    flat[n + 1], flat[n + 2], flat[n + 3], flat[n + 4] = name, cell[1], cell[2], cell[3]
    n = n + 4
    last = math.max(last, endOf(name, cell))
  end
  local mode, ends = 'PXAT', last
  -- The server expires keys by its own clock, which a given time does not follow.
  if given then mode, ends = 'PX', last - now end
  redis.call('SET', key, cmsgpack.pack(flat), mode, string.format('%.0f', ends))
end

local subjects = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do subjects[i] = read(subjects[i]) end
local charged, answer = {}, { now }
local n = 1
for _, check in ipairs(checks) do
  local cost, rules, cells, allowed = check[1], policies[check[2]], {}, 1
  for i, rule in ipairs(rules) do
    local cell = cellAt(subjects[check[2 + rule[5]]][rule[1]], rule[2])
    if used(cell, rule[2], rule[4]) + cost > rule[3] then allowed = 0 end
    cells[i] = cell
  end
  answer[n + 1] = allowed
  n = n + 1
  for i, rule in ipairs(rules) do
    local cell = cells[i]
    if allowed == 1 and cost > 0 then
      local place = check[2 + rule[5]]
      cell = { cell[1], cell[2], cell[3] + cost }
      subjects[place][rule[1]] = cell
      charged[place] = true
    end
    answer[n + 1], answer[n + 2], answer[n + 3] = cell[1], cell[2], cell[3]
    n = n + 3
  end
end
for i in pairs(charged) do write(KEYS[i], subjects[i]) end
return answer
`

export const scriptDigest = createHash('sha1').update(script).digest('hex')
