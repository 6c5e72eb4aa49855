/**
 * What Redis does in one step, as Lua. Each script is given one key, from which the names of
 * all others are made: it carries the hash tag, so that a cluster keeps all of them together,
 * and whatever prefix a driver puts before keys, it is before all of them. What is written is
 * marked with a token of the writer's: some drivers send a command again whose reply was lost,
 * and the second time must not be another.
 */

const prelude = `
local base = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function whole(number) return string.format('%.0f', number) end
local function index(name, member, ttl)
  redis.call('ZADD', name, whole(now + ttl), member)
  if redis.call('PTTL', name) < ttl then redis.call('PEXPIRE', name, whole(ttl)) end
end
local function sweep(name)
  local gone = redis.call('ZRANGEBYSCORE', name, '-inf', whole(now), 'LIMIT', 0, 100)
  if #gone > 0 then redis.call('ZREM', name, unpack(gone)) end
end
local function surplus(name, max)
  sweep(name)
  local over = redis.call('ZCARD', name) - max
  if over <= 0 then return {} end
  return redis.call('ZRANGE', name, 0, math.min(over, 100) - 1)
end
`;

const sessions = `
local all = base .. ':sessions'
local function keyOf(id) return base .. ':session:' .. id end
local function owned(principal) return base .. ':owned:' .. principal end
local function use(id, principal, ttl)
  redis.call('PEXPIRE', keyOf(id), whole(ttl))
  index(all, id, ttl)
  if principal ~= '' then index(owned(principal), id, ttl) end
end
local function drop(id)
  local principal = redis.call('HGET', keyOf(id), 'p')
  redis.call('ZREM', all, id)
  if principal and principal ~= '' then redis.call('ZREM', owned(principal), id) end
  return redis.call('DEL', keyOf(id))
end
`;

const topics = `
local all = base .. ':topics'
local function placeOf(topic) return base .. ':place:' .. topic end
local function eventsOf(topic) return base .. ':events:' .. topic end
local function drop(topic)
  redis.call('ZREM', all, topic)
  redis.call('DEL', placeOf(topic), eventsOf(topic))
end
local function use(topic, keep, max)
  redis.call('PEXPIRE', placeOf(topic), whole(keep))
  index(all, topic, keep)
  if max then for _, each in ipairs(surplus(all, max)) do drop(each) end end
end
`;

const create = `${prelude}${sessions}
local id, principal, version, record = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local ttl, max, maxOwned = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
drop(id)
redis.call('HSET', keyOf(id), 'r', record, 'v', version, 'p', principal)
use(id, principal, ttl)
if principal ~= '' then
  for _, each in ipairs(surplus(owned(principal), maxOwned)) do drop(each) end
end
for _, each in ipairs(surplus(all, max)) do drop(each) end
return 1
`;

const touch = `${prelude}${sessions}
local id, ttl = ARGV[1], tonumber(ARGV[2])
local found = redis.call('HMGET', keyOf(id), 'r', 'v', 'p')
if not found[1] then return {} end
if redis.call('PTTL', keyOf(id)) <= ttl * 0.9 then use(id, found[3], ttl) end
return { found[1], found[2] }
`;

const save = `${prelude}${sessions}
local id, version, record, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local found = redis.call('HMGET', keyOf(id), 'v', 'p', 't')
if not found[1] then return 0 end
if found[1] ~= version then return found[3] == token and 1 or 0 end
redis.call('HSET', keyOf(id), 'r', record, 'v', whole(tonumber(version) + 1), 't', token)
use(id, found[2], tonumber(ARGV[5]))
return 1
`;

const end = `${prelude}${sessions}
return drop(ARGV[1])
`;

const publish = `${prelude}${topics}
local topic, data, size = ARGV[1], ARGV[3], tonumber(ARGV[4])
local done = base .. ':done:' .. ARGV[5]
local ttl, keep = tonumber(ARGV[6]), tonumber(ARGV[7])
local maxEvents, maxLength, maxTopics = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local before = redis.call('HMGET', done, 'e', 'n')
if before[1] then return before end
local events, place = eventsOf(topic), placeOf(topic)
local known = redis.call('HMGET', place, 'e', 'n', 'o', 'l')
local epoch, last, lost, length = ARGV[2], 0, 0, 0
if known[1] then
  epoch, last, lost, length = known[1], tonumber(known[2]), tonumber(known[3]), tonumber(known[4])
  if redis.call('EXISTS', events) == 0 then lost, length = last, 0 end
else
  redis.call('DEL', events)
end
last, length = last + 1, length + size
redis.call('XADD', events, whole(last) .. '-0', 's', whole(size), 'd', data)
local count = redis.call('XLEN', events)
while count > maxEvents or length > maxLength do
  local oldest = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', events, oldest[1])
  count, length, lost = count - 1, length - tonumber(oldest[2][2]), tonumber(string.match(oldest[1], '^%d+'))
end
redis.call('PEXPIRE', events, whole(ttl))
redis.call('HSET', place, 'e', epoch, 'n', whole(last), 'o', whole(lost), 'l', whole(length))
use(topic, keep, maxTopics)
redis.call('XADD', base .. ':bell', 'MAXLEN', '~', 1000, '*', 't', topic, 'e', epoch, 'n', whole(last))
redis.call('HSET', done, 'e', epoch, 'n', whole(last))
redis.call('PEXPIRE', done, 60000)
return { epoch, whole(last) }
`;

const position = `${prelude}${topics}
local topic, keep = ARGV[1], tonumber(ARGV[3])
local place = placeOf(topic)
local known = redis.call('HMGET', place, 'e', 'n')
if known[1] then
  if redis.call('PTTL', place) < keep / 2 then use(topic, keep) end
  return known
end
redis.call('HSET', place, 'e', ARGV[2], 'n', 0, 'o', 0, 'l', 0)
use(topic, keep, tonumber(ARGV[4]))
return { ARGV[2], '0' }
`;

const read = `${prelude}${topics}
local topic, epoch, after = ARGV[1], ARGV[2], ARGV[3]
local known = redis.call('HMGET', placeOf(topic), 'e', 'n', 'o')
if not known[1] then return {} end
if redis.call('EXISTS', eventsOf(topic)) == 0 then return { known[1], known[2], known[2] } end
if known[1] ~= epoch then after = '0' end
local reading = { known[1], known[2], known[3] }
for _, event in ipairs(redis.call('XRANGE', eventsOf(topic), after .. '-1', '+', 'COUNT', ARGV[4])) do
  reading[#reading + 1] = string.match(event[1], '^%d+')
  reading[#reading + 1] = event[2][4]
end
return reading
`;

const forget = `${prelude}${topics}
drop(ARGV[1])
return 1
`;

const keep = `${prelude}${topics}
for at = 2, #ARGV do
  if redis.call('EXISTS', placeOf(ARGV[at])) == 1 then use(ARGV[at], tonumber(ARGV[1])) end
end
return 1
`;

const claim = `${prelude}
local id, ttl, token, max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local all, key = base .. ':used', base .. ':used:' .. id
local by = redis.call('GET', key)
if by then return by == token and 1 or 0 end
sweep(all)
if redis.call('ZCOUNT', all, '(' .. whole(now), '+inf') >= max then return -1 end
redis.call('SET', key, token, 'PX', whole(ttl))
index(all, id, ttl)
return 1
`;

const ring = `
local function ring(life)
  local found = redis.call('ZREVRANGEBYSCORE', keys, '+inf', '(' .. whole(now - life), 'WITHSCORES', 'LIMIT', 0, 64)
  for at = 2, #found, 2 do found[at] = whole(now - tonumber(found[at])) end
  return found
end
`;

const readKeys = `${prelude}
local keys = base .. ':keys'
${ring}
return ring(tonumber(ARGV[1]))
`;

const rotateKeys = `${prelude}
local keys = base .. ':keys'
${ring}
local life, rotate = tonumber(ARGV[1]), tonumber(ARGV[3])
local newest = redis.call('ZREVRANGE', keys, 0, 0, 'WITHSCORES')[2]
if not newest or now - tonumber(newest) >= rotate then
  redis.call('ZADD', keys, whole(now), ARGV[2])
  redis.call('ZREMRANGEBYSCORE', keys, '-inf', whole(now - life))
  redis.call('PEXPIRE', keys, whole(life))
end
return ring(life)
`;

export const scripts: Readonly<Record<ScriptName, string>> = Object.freeze({
  create,
  touch,
  save,
  end,
  publish,
  position,
  read,
  forget,
  keep,
  claim,
  readKeys,
  rotateKeys,
});

export type ScriptName =
  | "create"
  | "touch"
  | "save"
  | "end"
  | "publish"
  | "position"
  | "read"
  | "forget"
  | "keep"
  | "claim"
  | "readKeys"
  | "rotateKeys";
