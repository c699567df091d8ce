// SPDX-License-Identifier: MIT
// Node with all that it has of threads, processes and generated code; prints the same every time.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execFileSync, spawnSync } = require('child_process');
const zlib = require('zlib');
const crypto = require('crypto');

function work(seed) {
  const numbers = new Float64Array(4096);
  let x = seed;
  for (let round = 0; round < 200; round++)
    for (let i = 0; i < numbers.length; i++) {
      x = (x * 1103515245 + 12345) % 2147483648;
      numbers[i] = numbers[(i * 7) % numbers.length] + (x & 1023);
    }
  return numbers.reduce((a, b) => (a * 31 + b) % 1000003, 0);
}

if (!isMainThread) {
  parentPort.postMessage([workerData, work(workerData)]);
} else {
  const text = Buffer.from(Array.from({ length: 200000 }, (_, i) => 97 + (i * i) % 26));
  console.log('work', work(1));
  console.log('deflate', zlib.inflateSync(zlib.deflateSync(text)).equals(text));
  console.log('sha', crypto.createHash('sha256').update(text).digest('hex'));
  console.log('child', execFileSync(process.execPath, ['-e', 'console.log(6 * 7)']).toString().trim());
  console.log('killed', spawnSync(process.execPath, ['-e', 'process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 9999)']).signal);
  try {
    JSON.parse('{');
  } catch (error) {
    console.log('caught', error instanceof SyntaxError);
  }
  process.on('SIGUSR2', () => console.log('signal'));
  process.kill(process.pid, 'SIGUSR2');
  const results = [];
  for (let seed = 1; seed <= 4; seed++)
    new Worker(__filename, { workerData: seed }).on('message', (message) => {
      results.push(message);
      if (results.length === 4) {
        console.log(results.sort((a, b) => a[0] - b[0]).join(' '));
        crypto.pbkdf2('a', 'b', 20000, 32, 'sha512', (_, key) => {
          console.log('key', key.toString('hex'));
          process.exitCode = 3;
        });
      }
    });
}
