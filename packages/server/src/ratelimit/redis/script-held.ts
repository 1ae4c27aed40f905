/**
 * The part of the script that limits the units of a tag. A tag is a workspace, a project and an environment; a workspace with
 * an environment is a tag too, for all its projects. Beside the counters of a tag is a hash, `<tag>:held`, with the units by
 * the time at which they end, and their sum as `all`. A key with counters is one unit, which takes some 400 bytes; a key whose
 * counters take more than 256 bytes is several units.
 *
 * A key stores in its value what it has added to the hash, so that no key is read to find out. An end is rounded up to an
 * eighth of the time until then: so a hash has at most some hundred fields, and a batch of checks changes few of them. Units
 * that have ended are subtracted when the hash is swept: once a minute, and before a check is refused. The hash is best effort:
 * if a user may not write it, or a foreign value is in its place, checks go on.
 */
export const held = `
local noteName = 'held 0'

-- A note has the form of a counter, so that a process of an older release keeps it: the end, the units, 0.
local function isNote(cell)
  return type(cell[1]) == 'number' and cell[1] >= 0 and cell[1] <= now + 8000000000 and isCount(cell[2]) and cell[2] <= 1024
end

local holds = {}
local function holdOf(tag)
  local hold = holds[tag]
  if hold then return hold end
  local key = tag .. ':held'
  local got = redis.pcall('HMGET', key, 'all', 'swept')
  if got.err then
    redis.pcall('DEL', key)
    got = {}
  end
  local all, swept = tonumber(got[1]) or 0, tonumber(got[2]) or 0
  if not isCount(all) then all = 0 end
  hold = { tag = tag, key = key, all = all, swept = swept, coming = 0, deltas = {}, isNear = false }
  holds[tag] = hold
  return hold
end

local function sweep(hold, everyMs)
  if now < hold.swept + everyMs and hold.swept <= now then return end
  hold.swept = now
  local flat = redis.pcall('HGETALL', hold.key)
  if flat.err then return end
  local all = 0
  for i = 1, #flat, 2 do
    local ends, units = tonumber(flat[i]), tonumber(flat[i + 1])
    if flat[i] ~= 'all' and flat[i] ~= 'swept' then
      if ends and ends > now and isCount(units) then all = all + units else redis.pcall('HDEL', hold.key, flat[i]) end
    end
  end
  hold.all = all
  redis.pcall('HSET', hold.key, 'all', string.format('%.0f', all), 'swept', string.format('%.0f', now))
end

local function change(hold, ends, units)
  if ends <= now then return end
  hold.deltas[ends] = (hold.deltas[ends] or 0) + units
end

local function tagOf(key) return string.match(key, '^keyrail:{[^}]*}') end

local function takeQuota(key, most)
  if isFull then return false end
  local hold = holdOf(tagOf(key))
  if hold.all + hold.coming >= most then sweep(hold, 1000) end
  if hold.all + hold.coming >= most * 7 / 8 then hold.isNear = true end
  if hold.all + hold.coming >= most then return false end
  hold.coming = hold.coming + 1
  return true
end

-- What a key holds now. An end that was noted before is kept while it covers the key's.
local function noteOf(key, note, last, bytes)
  local units = 1 + floor(bytes / 256)
  if note and note[1] >= last and note[2] == units then return note end
  local grain = 10000
  while grain * 8 < last - now do grain = grain * 8 end
  local ends = note and note[1] >= last and note[1] or math.ceil(last / grain) * grain
  local hold = holdOf(tagOf(key))
  if note then change(hold, note[1], -note[2]) end
  change(hold, ends, units)
  return { ends, units }
end

local function dropKey(key, note)
  if note then change(holdOf(tagOf(key)), note[1], -note[2]) end
  redis.call('UNLINK', key)
end

-- An add is a tag, then ends and units in turn.
local function addUnits(add)
  local hold = holdOf(add[1])
  for i = 2, #add, 2 do change(hold, add[i], add[i + 1]) end
  sweep(hold, 60000)
  hold.isNear = true
end

local function addTo(hold, field, units)
  local sum = redis.pcall('HINCRBY', hold.key, field, units)
  if type(sum) == 'number' then return sum end
  redis.pcall('DEL', hold.key)
  hold.all = 0
  sum = redis.pcall('HINCRBY', hold.key, field, units)
  return type(sum) == 'number' and sum or nil
end

-- Writes what has changed, and returns it: for each tag its name, its sum, 1 if that is near a bound, then ends and units.
local function changes()
  local all = {}
  for tag, hold in pairs(holds) do
    local changed, sum, last = { tag, 0, hold.isNear and 1 or 0 }, 0, now
    for ends, units in pairs(hold.deltas) do
      if units ~= 0 then
        addTo(hold, string.format('%.0f', ends), units)
        sum = sum + units
        last = math.max(last, ends)
        changed[#changed + 1], changed[#changed + 2] = ends, units
      end
    end
    if last > now then
      if sum ~= 0 then hold.all = addTo(hold, 'all', sum) or 0 end
      local life = string.format('%.0f', last - now)
      redis.pcall('PEXPIRE', hold.key, life, 'NX')
      redis.pcall('PEXPIRE', hold.key, life, 'GT')
      sweep(hold, 60000)
    end
    changed[2] = hold.all
    if #changed > 3 or hold.isNear then all[#all + 1] = changed end
  end
  return all
end
`
