import { createHash } from 'node:crypto'
import { graceMs, mostCounters } from '../store.ts'
import { held } from './script-held.ts'

/**
 * Decides a batch of checks in one step, in the order of their arrival. `KEYS` are the subjects. `ARGV[1]` is JSON, `[policies,
 * checks, adds, drops]`: a policy is `[[counter, window, limit, is fixed, scope], …]` with scope 1 for the key and 2 for the
 * tenant, and a check is `[cost, its policy, its key, its tenant, units]`, key and tenant as indexes in KEYS; units are the
 * most that its tag may hold, absent for the usual number. `adds` are units to add under a tag, and `drops` are indexes of KEYS
 * to delete; `script-held.ts` has both. `ARGV[2]` is empty, or a time that replaces the server's clock. `ARGV[3]` is the usual
 * number of units. Numbers are doubles as in `window.ts`, whose arithmetic this script repeats.
 *
 * A key holds a version, then four values for each counter: name, start, previous, current. One more entry of this form notes
 * the units of the key in its tag. The script returns the time, then for each check 1, 0, or 2 for a check that needs a new
 * counter for which there is no space, and the three values of each cell; and beside that list what has changed in each tag.
 *
 * The first line makes Redis 7 check before the script starts whether it may write: a full server, or a replica, refuses the
 * whole batch. A second script runs on a full server all the same: a check that needs a new counter is answered 2, checks of
 * existing counters are charged in place, and drops make space. A foreign value under a key, or a counter in it that no check
 * can have written, counts as empty and is overwritten; other checks of the batch are not affected.
 */
const scriptOf = (isForFull: boolean) => `#!lua${isForFull ? ' flags=allow-oom' : ''}
local isFull = ${isForFull}
local policies, checks, adds, drops = unpack(cjson.decode(ARGV[1]))
local given = tonumber(ARGV[2])
local unitsMost = tonumber(ARGV[3])
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

local function cellAt(cell, window, isFixed)
  local start = floor(now / window) * window
  if cell and start <= cell[1] then return cell end
  if cell and not isFixed and start - window == cell[1] then return { start, cell[3], 0 } end
  return { start, 0, 0 }
end

local function used(cell, window, isFixed)
  if isFixed then return cell[3] end
  local elapsed = math.max(0, now - cell[1])
  return cell[3] + cell[2] - mulDivDown(elapsed, cell[2], window)
end

-- How long a counter counts after its start, and its window, by its name. Most belong to a rule of the batch.
local spans, windows = {}, {}
for _, rules in ipairs(policies) do
  for _, rule in ipairs(rules) do
    windows[rule[1]] = rule[2]
    spans[rule[1]] = rule[4] and rule[2] or 2 * rule[2]
  end
end

local function windowOf(name)
  if type(name) ~= 'string' or #name > 128 then return nil end
  local algorithm, digits = string.match(name, '^%S+ (%l+) (%d+)$')
  local window = tonumber(digits)
  if not window or window < 1 or window > 2678400000 then return nil end
  windows[name] = window
  spans[name] = algorithm == 'fixed' and window or 2 * window
  return window
end

local function endOf(name, cell) return cell[1] + spans[name] + ${graceMs} end

-- Whether a value is a count, not NaN, infinite, negative, broken or larger than any limit.
local function isCount(value)
  return type(value) == 'number' and value >= 0 and value <= 4294967296 and value % 1 == 0
end

-- A window that begins later than the clock was ever set back would deny for as long.
local function isCell(cell, window)
  local start, previous, current = cell[1], cell[2], cell[3]
  return type(start) == 'number' and type(previous) == 'number' and type(current) == 'number'
    and start >= 0 and start <= now + window + 86400000 and start % window == 0
    and previous >= 0 and previous <= 4294967296 and previous % 1 == 0
    and current >= 0 and current <= 4294967296 and current % 1 == 0
end

${held}

-- Returns the counters of a subject by name, and what it holds for its tag.
local function read(value)
  local counters = {}
  if not value or #value > 65536 then return counters end
  local isPacked, flat = pcall(cmsgpack.unpack, value)
  if not isPacked or type(flat) ~= 'table' or flat[1] ~= 1 or #flat > ${4 * (mostCounters + 1) + 1} then return counters end
  local note
  for i = 2, #flat, 4 do
    local name, cell = flat[i], { flat[i + 1], flat[i + 2], flat[i + 3] }
    local window = windows[name] or windowOf(name)
    if window then
      if isCell(cell, window) then counters[name] = cell end
    elseif name == noteName and isNote(cell) then
      note = cell
    end
  end
  return counters, note
end

local function dropFirstEnding(counters)
  local kept = {}
  for name, cell in pairs(counters) do kept[#kept + 1] = { endOf(name, cell), name } end
  table.sort(kept, function(a, b) return a[1] > b[1] end)
  for i = ${mostCounters} + 1, #kept do counters[kept[i][2]] = nil end
end

local function write(key, counters, note)
  local count = 0
  for name, cell in pairs(counters) do
    if endOf(name, cell) > now then count = count + 1 else counters[name] = nil end
  end
  if count > ${mostCounters} then dropFirstEnding(counters) end
  local flat, n, last, bytes = { 1 }, 1, now, 0
  for name, cell in pairs(counters) do
    flat[n + 1], flat[n + 2], flat[n + 3], flat[n + 4] = name, cell[1], cell[2], cell[3]
    n = n + 4
    bytes = bytes + #name + 20
    local ends = endOf(name, cell)
    if ends > last then last = ends end
  end
  local noted = noteOf(key, note, last, bytes)
  flat[n + 1], flat[n + 2], flat[n + 3], flat[n + 4] = noteName, noted[1], noted[2], 0
  local mode, ends = 'PXAT', last
  -- The server expires keys by its own clock, which a given time does not follow.
  if given then mode, ends = 'PX', last - now end
  redis.call('SET', key, cmsgpack.pack(flat), mode, string.format('%.0f', ends))
end

-- Whether a check that needs a further counter has no space for it.
local function lacksQuota(check)
  local place = check[3] > 0 and check[3] or check[4]
  return not takeQuota(KEYS[place], check[5] or unitsMost)
end

local subjects, notes = redis.call('MGET', unpack(KEYS)), {}
for i = 1, #KEYS do subjects[i], notes[i] = read(subjects[i]) end
for _, i in ipairs(drops or {}) do dropKey(KEYS[i], notes[i]) end
for _, add in ipairs(adds or {}) do addUnits(add) end
local charged, answer = {}, { now }
local n = 1
for _, check in ipairs(checks) do
  local cost, rules, cells, allowed, isNew = check[1], policies[check[2]], {}, 1, false
  for i, rule in ipairs(rules) do
    local kept = subjects[check[2 + rule[5]]][rule[1]]
    if not kept then isNew = true end
    local cell = cellAt(kept, rule[2], rule[4])
    if used(cell, rule[2], rule[4]) + cost > rule[3] then allowed = 0 end
    cells[i] = cell
  end
  if isNew and allowed == 1 and cost > 0 and lacksQuota(check) then allowed = 2 end
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
for i in pairs(charged) do write(KEYS[i], subjects[i], notes[i]) end
return { answer, changes() }
`

/** A script with the digest under which a server caches it. */
export interface Script {
  readonly text: string
  readonly digest: string
}

const named = (text: string): Script => ({ text, digest: createHash('sha1').update(text).digest('hex') })

export const script = named(scriptOf(false))
export const scriptForFull = named(scriptOf(true))
