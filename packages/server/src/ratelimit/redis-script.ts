import { createHash } from 'node:crypto'
import { graceMs, mostCounters } from './store.ts'

/**
 * A batch of checks as Redis decides it, in one step and in the order of their arrival. `KEYS` are subjects;
 * `ARGV[1]` is JSON, a check `[cost, [[place of its subject in KEYS, counter, window, limit, is fixed], …]]`; `ARGV[2]`
 * is a time to go by in place of the server's own, or empty. Numbers are doubles here as they are in `window.ts`, whose
 * arithmetic this repeats. A key holds a version, then four values for each counter: name, start, previous, current.
 * The answer is numbers alone: the time, then for each check 1 or 0 and the three of each cell.
 *
 * With a first line of this kind Redis 7 looks before it starts whether it may write: a server that is full, or a
 * replica, refuses the whole of it. What somebody else put under a key counts as nothing, and is written over.
 */
export const script = `#!lua
local batch = cjson.decode(ARGV[1])
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

local function write(key, counters)
  local kept = {}
  for name, cell in pairs(counters) do
    local ends = cell[1] + 2 * tonumber(string.match(name, '%d+$')) + ${graceMs}
    if ends > now then kept[#kept + 1] = { ends, name, cell } end
  end
  if #kept > ${mostCounters} then
    table.sort(kept, function(a, b) return a[1] > b[1] end)
  end
  local flat, last = { 1 }, now
  for i = 1, math.min(#kept, ${mostCounters}) do
    local ends, name, cell = unpack(kept[i])
    local n = #flat
    flat[n + 1], flat[n + 2], flat[n + 3], flat[n + 4] = name, cell[1], cell[2], cell[3]
    last = math.max(last, ends)
  end
  local mode, ends = 'PXAT', last
  -- The server keeps to its own clock, and a time that was given is another one.
  if given then mode, ends = 'PX', last - now end
  redis.call('SET', key, cmsgpack.pack(flat), mode, string.format('%.0f', ends))
end

local subjects = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do subjects[i] = read(subjects[i]) end
local charged, answer = {}, { now }
for _, check in ipairs(batch) do
  local cost, rules, cells, allowed = check[1], check[2], {}, 1
  for i, rule in ipairs(rules) do
    local cell = cellAt(subjects[rule[1]][rule[2]], rule[3])
    if used(cell, rule[3], rule[5]) + cost > rule[4] then allowed = 0 end
    cells[i] = cell
  end
  answer[#answer + 1] = allowed
  for i, rule in ipairs(rules) do
    local start, previous, current = unpack(cells[i])
    if allowed == 1 and cost > 0 then
      current = current + cost
      subjects[rule[1]][rule[2]] = { start, previous, current }
      charged[rule[1]] = true
    end
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = start, previous, current
  end
end
for i in pairs(charged) do write(KEYS[i], subjects[i]) end
return answer
`

export const scriptDigest = createHash('sha1').update(script).digest('hex')
