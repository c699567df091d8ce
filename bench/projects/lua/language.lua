-- SPDX-License-Identifier: MIT
-- What an interpreter must get right, each with the answer that the manual gives: language.lua NAME
-- Everything that leaves a function by a way of its own is here: errors, coroutines, tail calls, finalizers.
local title = arg[1] or "lua"

local function try(name, body)
  local fine, problem = pcall(body)
  print((fine and "ok " or "not ok ") .. title .. " " .. name .. (fine and "" or ": " .. tostring(problem)))
end

local function equal(actual, expected)
  if actual ~= expected then
    error(string.format("%s instead of %s", tostring(actual), tostring(expected)), 2)
  end
end

try("integers", function()
  equal(math.maxinteger + 1, math.mininteger)
  equal(7 // -2, -4)
  equal(-7 % 3, 2)
  equal(7 // 0.0, math.huge)
  equal(1 << 63, math.mininteger)
  equal(1 << 64, 0)
  equal(0xff ~ 0x0f, 0xf0)
  equal(math.type(3 // 1.0), "float")
  equal("10" + 5, 15)
  equal(2 ^ 53 | 0, 9007199254740992)
end)

try("floats", function()
  equal(string.format("%.14g", 0.1 + 0.2), "0.3")
  equal(0.1 + 0.2 == 0.3, false)
  equal(math.tointeger(3.0), 3)
  equal(math.tointeger(3.5), nil)
  local nan = 0 / 0
  equal(nan == nan, false)
  equal(math.floor(-3.5), -4)
  equal(math.fmod(-7, 3), -1)
  equal(string.format("%a", 1.0), "0x1p+0")
  equal(tostring(1e15), "1e+15")
end)

try("comparisons", function()
  equal(1 < 1.5, true)
  equal("a" < "b", true)
  equal(math.maxinteger < math.maxinteger + 1.0, true)
  equal(pcall(function() return 1 < "2" end), false)
end)

try("strings", function()
  equal(("abc"):rep(3, "-"), "abc-abc-abc")
  equal(("hello"):sub(-3, -2), "ll")
  equal(("x"):byte(), 120)
  equal(#"\u{10FFFF}", 4)
  equal(("%5.2f|%-5d|%05d|%x|%q"):format(3.14159, 42, 42, 255, "a\nb"), " 3.14|42   |00042|ff|\"a\\\nb\"")
  equal(("a,b,,c"):gsub(",", ";"), "a;b;;c")
  equal(table.concat({ 1, 2, 3 }, ", ", 2, 3), "2, 3")
end)

try("patterns", function()
  equal(("key = value"):match("^(%w+)%s*=%s*(%w+)$"), "key")
  equal(select(2, ("hello world"):gsub("o", "0")), 2)
  equal(("THE (quick) fox"):find("%((%a+)%)"), 5)
  equal(("f(a(b)c)d"):match("%b()"), "(a(b)c)")
  equal(("THE (quick) fox"):gsub("%f[%a]%a+", string.lower), "the (quick) fox")
  equal(("abc"):gsub("%w", { a = "1", b = false }), "1bc")
  equal(pcall(string.rep, "x", 1 << 60), false)
  equal(pcall(string.match, "a", "[a"), false)
end)

try("packing", function()
  local packed = string.pack("<i4 >i2 z s1 d", 1, 2, "zero", "one", 1.5)
  local a, b, c, d, e = string.unpack("<i4 >i2 z s1 d", packed)
  equal(table.concat({ a, b, c, d, e }, " "), "1 2 zero one 1.5")
  equal(string.packsize("i4 i8 !8 d"), 24)
end)

try("utf8", function()
  equal(utf8.char(228, 8364, 0x1F600), "ä€😀")
  equal(utf8.len("ä€😀"), 3)
  equal(utf8.codepoint("€"), 8364)
  equal(utf8.len("\xff"), nil)
end)

try("tables", function()
  local t = {}
  for i = 1, 1000 do t[i] = i end
  for i = 1, 1000, 2 do t[i] = nil end
  local count = 0
  for _ in pairs(t) do count = count + 1 end
  equal(count, 500)
  local list = { 5, 2, 8, 1, 9, 3 }
  table.sort(list, function(a, b) return a > b end)
  equal(table.concat(list, " "), "9 8 5 3 2 1")
  table.insert(list, 1, 10)
  equal(table.remove(list), 1)
  equal(table.concat(table.move(list, 1, 3, 2), " "), "10 10 9 8 3 2")
  equal(select("#", table.unpack({ 1, nil, 3 }, 1, 3)), 3)
  equal(next({}), nil)
end)

try("sort refuses", function()
  equal(pcall(table.sort, { 3, "x", 1 }), false)
  local bad = {}
  for i = 1, 100 do bad[i] = i % 7 end
  pcall(table.sort, bad, function() return true end)
end)

try("closures", function()
  local counters = {}
  for i = 1, 3 do
    counters[i] = function() i = i + 1 return i end
  end
  equal(counters[1](), 2)
  equal(counters[1](), 3)
  equal(counters[2](), 3)
  local function adder(x) return function(y) x = x + y return x end end
  local add = adder(10)
  add(5)
  equal(add(1), 16)
end)

try("varargs", function()
  local function pack(...) return select("#", ...), ... end
  equal(select("#", pack(nil, nil)), 3)
  local function last(...) return (select(-1, ...)) end
  equal(last(1, 2, 3), 3)
  local many = {}
  for i = 1, 5000 do many[i] = i end
  equal(select("#", table.unpack(many)), 5000)
  equal(math.max(table.unpack(many)), 5000)
end)

try("tail calls", function()
  local function down(n) if n == 0 then return "ground" end return down(n - 1) end
  equal(down(1000000), "ground")
  local even, odd
  even = function(n) if n == 0 then return true end return odd(n - 1) end
  odd = function(n) if n == 0 then return false end return even(n - 1) end
  equal(even(100001), false)
end)

try("goto", function()
  local i, sum = 0, 0
  ::again::
  i = i + 1
  if i % 2 == 0 then goto again end
  sum = sum + i
  if i < 9 then goto again end
  equal(sum, 25)
  for a = 1, 3 do
    for b = 1, 3 do
      if a * b == 4 then goto found end
      sum = sum + 1
    end
  end
  ::found::
  equal(sum, 29)
end)

try("loops", function()
  local seen = {}
  for i = 10, 1, -3 do seen[#seen + 1] = i end
  equal(table.concat(seen, " "), "10 7 4 1")
  local steps = 0
  for x = 0, 1, 0.25 do steps = steps + 1 end
  equal(steps, 5)
  for i = math.maxinteger - 1, math.maxinteger do steps = steps + 1 end
  equal(steps, 7)
  equal(pcall(function() for i = 1, 10, 0 do end end), false)
end)

try("errors", function()
  local fine, value = pcall(error, { code = 7 })
  equal(fine, false)
  equal(value.code, 7)
  local ok, text = pcall(function() local t = nil return t.x end)
  equal(ok, false)
  equal(text:match("attempt to index a nil value %(local 't'%)") ~= nil, true)
  equal(select(2, xpcall(function() error("deep", 0) end, function(m) return m .. " handled" end)), "deep handled")
  local function nest(n)
    if n == 0 then error("bottom", 0) end
    local fine, problem = pcall(nest, n - 1)
    error(problem .. n % 10, 0)
  end
  local _, trail = pcall(nest, 50)
  equal(#trail, 56)
end)

try("stack overflow", function()
  local function forever(n) return 1 + forever(n + 1) end
  local fine, problem = pcall(forever, 1)
  equal(fine, false)
  equal(tostring(problem):match("stack overflow") ~= nil, true)
  local deep = string.rep("(", 300) .. "1" .. string.rep(")", 300)
  equal(load("return " .. deep), nil)
end)

try("coroutines", function()
  local function generate(n)
    return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end)
  end
  local sum = 0
  for value in generate(1000) do sum = sum + value end
  equal(sum, 500500)
  local thread = coroutine.create(function(a)
    local b = coroutine.yield(a + 1)
    local c = coroutine.yield(b * 2)
    error("in thread " .. c, 0)
  end)
  equal(select(2, coroutine.resume(thread, 1)), 2)
  equal(select(2, coroutine.resume(thread, 10)), 20)
  equal(select(2, coroutine.resume(thread, "x")), "in thread x")
  equal(coroutine.status(thread), "dead")
  equal(coroutine.resume(thread), false)
end)

try("yield across pcall", function()
  local thread = coroutine.wrap(function()
    local fine, problem = pcall(function()
      local got = coroutine.yield("first")
      error(got, 0)
    end)
    local sorted = {}
    for k in pairs({ a = 1 }) do coroutine.yield(k) end
    return problem
  end)
  equal(thread(), "first")
  equal(thread("thrown"), "a")
  equal(thread(), "thrown")
end)

try("permutations", function()
  local function permute(list, n, out)
    if n == 0 then out(table.concat(list)) return end
    for i = 1, n do
      list[n], list[i] = list[i], list[n]
      permute(list, n - 1, out)
      list[n], list[i] = list[i], list[n]
    end
  end
  local seen, count = {}, 0
  for text in coroutine.wrap(function() permute({ "a", "b", "c", "d", "e", "f" }, 6, coroutine.yield) end) do
    if not seen[text] then seen[text] = true count = count + 1 end
  end
  equal(count, 720)
end)

try("metatables", function()
  local vector = {}
  vector.__index = vector
  vector.__add = function(a, b) return setmetatable({ x = a.x + b.x }, vector) end
  vector.__eq = function(a, b) return a.x == b.x end
  vector.__lt = function(a, b) return a.x < b.x end
  vector.__le = function(a, b) return a.x <= b.x end
  vector.__len = function(a) return a.x end
  vector.__call = function(a, y) return a.x * y end
  vector.__concat = function(a, b) return "joined" end
  vector.__tostring = function(a) return "vector " .. a.x end
  vector.__unm = function(a) return setmetatable({ x = -a.x }, vector) end
  local function new(x) return setmetatable({ x = x }, vector) end
  equal((new(1) + new(2)).x, 3)
  equal(new(1) == new(1), true)
  equal(new(1) < new(2), true)
  equal(new(3) <= new(2), false)
  equal(#new(9), 9)
  equal(new(4)(5), 20)
  equal(new(1) .. "x", "joined")
  equal(tostring(-new(6)), "vector -6")
end)

try("index chains", function()
  local log = {}
  local base = setmetatable({}, { __index = function(_, k) log[#log + 1] = k return k .. "!" end })
  local derived = setmetatable({}, { __index = base, __newindex = function(t, k, v) rawset(t, k, v * 2) end })
  equal(derived.name, "name!")
  derived.size = 21
  equal(derived.size, 42)
  equal(#log, 1)
end)

try("close", function()
  local order = {}
  local function guard(name)
    return setmetatable({}, { __close = function(_, problem) order[#order + 1] = name .. tostring(problem) end })
  end
  pcall(function()
    local a <close> = guard("a")
    local b <close> = guard("b")
    error("E", 0)
  end)
  equal(table.concat(order, " "), "bE aE")
  local c <const> = 5
  equal(c, 5)
end)

try("collection", function()
  local finalized = 0
  for i = 1, 1000 do
    setmetatable({}, { __gc = function() finalized = finalized + 1 end })
  end
  collectgarbage()
  equal(finalized, 1000)
  local weak = setmetatable({}, { __mode = "k" })
  for i = 1, 100 do weak[{}] = i end
  collectgarbage()
  equal(next(weak), nil)
  for _, mode in ipairs({ "generational", "incremental" }) do
    collectgarbage(mode)
    local keep = {}
    for i = 1, 20000 do keep[i % 100] = { i, tostring(i) } end
    equal(keep[99][2], "19999")
  end
end)

try("load", function()
  equal(load("return ...")(42), 42)
  local environment = { y = 5 }
  equal(load("x = y * 2 return x", "chunk", "t", environment)(), 10)
  equal(environment.x, 10)
  local dumped = string.dump(function(n) local s = 0 for i = 1, n do s = s + i end return s end)
  equal(load(dumped, "bytes", "b")(100), 5050)
  equal(select(2, load("x = = 1")):match("unexpected symbol") ~= nil, true)
  local parts, at = { "return ", "1 ", "+ ", "2" }, 0
  equal(load(function() at = at + 1 return parts[at] end)(), 3)
end)

try("hooks", function()
  local lines = 0
  debug.sethook(function() lines = lines + 1 end, "l")
  local x = 1
  x = x + 1
  debug.sethook()
  equal(lines >= 2, true)
  local stopped = pcall(function()
    debug.sethook(function() error("too long") end, "", 10000)
    while true do end
  end)
  debug.sethook()
  equal(stopped, false)
end)

try("traceback", function()
  local text = debug.traceback("here")
  equal(text:match("^here\nstack traceback:") ~= nil, true)
  equal(debug.getinfo(1, "l").currentline > 0, true)
end)

try("files", function()
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write("one\n", 2, "\n", 3.5, "\n")
  file:close()
  local lines = {}
  for line in io.lines(name) do lines[#lines + 1] = line end
  equal(table.concat(lines, " "), "one 2 3.5")
  file = io.open(name)
  equal(file:read("l", "n", "n"), "one")
  equal(file:seek("set", 4), 4)
  equal(file:read("a"), "2\n3.5\n")
  file:close()
  os.remove(name)
  equal(io.open(name), nil)
end)

try("queens", function()
  local count, n = 0, 8
  local function place(row, columns, left, right)
    if row == n then count = count + 1 return end
    local free = ~(columns | left | right) & ((1 << n) - 1)
    while free ~= 0 do
      local bit = free & -free
      free = free & (free - 1)
      place(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    end
  end
  place(0, 0, 0, 0)
  equal(count, 92)
end)

try("random", function()
  math.randomseed(42)
  local first = math.random(1000000)
  math.randomseed(42)
  equal(math.random(1000000), first)
end)
