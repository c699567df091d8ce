-- SPDX-License-Identifier: MIT
-- An interpreter's daily bread: small tables, strings, sorting, closures, a sieve.
-- work.lua [ROUNDS [SCALE]]: of rounds 14; scale 1, less for smaller ones.
local function tree(depth)
  if depth == 0 then return {} end
  return { tree(depth - 1), tree(depth - 1) }
end

local function count(node)
  return node[1] and 1 + count(node[1]) + count(node[2]) or 1
end

local function sieve(limit)
  local composite, found = {}, 0
  for i = 2, limit do
    if not composite[i] then
      found = found + 1
      for j = i * i, limit, i do composite[j] = true end
    end
  end
  return found
end

local function words(rounds)
  local seen, text = {}, "the quick brown fox jumps over the lazy dog and runs away "
  for i = 1, rounds do
    for word in (text .. i):gmatch("%w+") do seen[word] = (seen[word] or 0) + 1 end
  end
  local keys = {}
  for word in pairs(seen) do keys[#keys + 1] = word end
  table.sort(keys)
  return #keys, table.concat(keys, ","):sub(1, 20)
end

local function compose(n)
  local f = function(x) return x end
  for i = 1, n do
    local g = f
    f = function(x) return g(x) + i % 3 end
  end
  return f
end

local scale = tonumber(arg[2]) or 1
local function scaled(number) return math.floor(number * scale) end

for round = 1, tonumber(arg[1]) or 14 do
  print(count(tree(16 + math.floor(math.log(scale, 2)))), sieve(scaled(1200000)), words(scaled(60000)))
  local f, sum = compose(100), 0
  for i = 1, scaled(30000) do sum = sum + f(i) end
  print(sum)
end
