// Has Dawn validate the WGSL of a gallery, or run its launches and compare their results' bits.
// SPDX-License-Identifier: MIT
//
// usage: node gallery.mjs validate|run <gallery.json>...
// Exit code 77: skipped, with the reason.
import { readFileSync } from 'node:fs';

const kSkipped = 77;

function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(kSkipped);
}

async function dawn() {
  try {
    const module = await import('webgpu');
    Object.assign(globalThis, module.globals);
    return module;
  } catch (error) {
    return skip(`Dawn for node is not there (npm install --no-package-lock in tests/webgpu): ${
        error.message.split('\n')[0]}`);
  }
}

// Dawn lives as long as this: a device does not keep it.
let gpu;

/** The device, of the null backend, which compiles and runs nothing, or of a real one. */
async function open(backend) {
  const { create } = await dawn();
  gpu = create([`backend=${backend}`]);
  const adapter = await gpu.requestAdapter({ featureLevel: 'compatibility' });
  if (!adapter) return skip(`Dawn finds no device of ${backend}`);
  const requiredLimits = {};
  for (const limit of ['maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupStorageSize',
                       'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX',
                       'maxComputeWorkgroupSizeY', 'maxComputeWorkgroupSizeZ']) {
    requiredLimits[limit] = adapter.limits[limit];
  }
  const requiredFeatures = ['core-features-and-limits', 'shader-f16'].filter(
      feature => adapter.features.has(feature));
  const device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
  console.log(`Dawn on ${backend}: ${adapter.info.description || adapter.info.device || 'no device'}`);
  return device;
}

/** The errors of `code` as WGSL; empty if it is valid. */
async function errors_of(device, code) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code });
  const { messages } = await module.getCompilationInfo();
  const scope = await device.popErrorScope();
  const texts = messages.filter(message => message.type === 'error').map(
      message => `line ${message.lineNum}: ${message.message}`);
  if (texts.length === 0 && scope) texts.push(scope.message);
  return { module, texts };
}

function read(files) {
  return files.map(file => JSON.parse(readFileSync(file, 'utf8')));
}

async function validate(files) {
  const device = await open('null');
  let valid = 0;
  let failed = 0;
  const refused = new Map();
  for (const gallery of read(files)) {
    for (const kernel of gallery.kernels) {
      if (kernel.refused !== undefined) {
        if (!kernel.refused.startsWith('WGSL has no ') && !kernel.refused.includes('no code for')) {
          console.log(`FAILED ${kernel.name} is refused without a name: ${kernel.refused}`);
          ++failed;
        }
        refused.set(kernel.refused, (refused.get(kernel.refused) ?? 0) + 1);
        continue;
      }
      const { texts } = await errors_of(device, kernel.code);
      if (texts.length === 0) {
        ++valid;
        continue;
      }
      if (++failed <= 12) console.log(`FAILED ${kernel.name}: ${texts.join('\n')}\n${kernel.code}`);
    }
  }
  console.log(`${valid} kernels are valid WGSL, ${failed} are not`);
  for (const [reason, count] of [...refused].sort()) console.log(`  refused ${count}: ${reason}`);
  // What the check is worth.
  const { texts } = await errors_of(device, '@compute @workgroup_size(1) fn f() { let x: i64 = 1; }');
  if (texts.length === 0) {
    console.log('FAILED what is no WGSL is valid too');
    ++failed;
  }
  return valid > 0 && failed === 0;
}

/** The bytes, to a whole word. */
function padded(hex) {
  const bytes = Buffer.from(hex, 'hex');
  const words = Buffer.alloc(Math.max(4, Math.ceil(bytes.length / 4) * 4));
  bytes.copy(words);
  return words;
}

async function launch(device, one) {
  const { module, texts } = await errors_of(device, one.code);
  if (texts.length > 0) throw new Error(texts.join('\n'));
  device.pushErrorScope('validation');
  const constants = { 0: one.block[0], 1: one.block[1], 2: one.block[2] };
  if (one.dynamic > 0) constants[3] = one.dynamic;
  const pipeline = await device.createComputePipelineAsync(
      { layout: 'auto', compute: { module, entryPoint: one.entry, constants } });
  // A layout made from the code lacks what the code does not use.
  const used = binding => new RegExp(`@binding\\(${binding}\\) var<[^>]*> (\\w+)`).exec(one.code);
  const body = one.code.slice(one.code.indexOf('@compute'));
  const is_used = binding => {
    const found = used(binding);
    return found !== null && new RegExp(`\\b${found[1]}\\b`).test(body);
  };
  const entries = [];
  const resources = [];
  const make = (bytes, usage) => {
    const buffer = device.createBuffer({ size: bytes.length, usage });
    device.queue.writeBuffer(buffer, 0, bytes);
    resources.push(buffer);
    return buffer;
  };
  if (is_used(0)) {
    const words = Buffer.alloc(Math.ceil(one.words.length / 4) * 16);
    one.words.forEach((word, i) => words.writeUInt32LE(word, 4 * i));
    const buffer = make(words, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    entries.push({ binding: 0, resource: { buffer } });
  }
  const results = [];
  for (const given of one.buffers) {
    if (!is_used(given.binding)) continue;
    const bytes = padded(given.before);
    const buffer = make(
        bytes, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC);
    entries.push({ binding: given.binding, resource: { buffer } });
    const back = device.createBuffer(
        { size: bytes.length, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    resources.push(back);
    results.push({ given, buffer, back });
  }
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  if (entries.length > 0) {
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  }
  pass.dispatchWorkgroups(...one.grid);
  pass.end();
  for (const { buffer, back } of results) encoder.copyBufferToBuffer(buffer, 0, back, 0, back.size);
  device.queue.submit([encoder.finish()]);
  const error = await device.popErrorScope();
  if (error) throw new Error(error.message);
  const differences = [];
  for (const { given, back } of results) {
    await back.mapAsync(GPUMapMode.READ);
    compare(given, Buffer.from(back.getMappedRange()), differences);
  }
  for (const buffer of resources) buffer.destroy();
  return differences;
}

/** A float of this type that is NaN. */
function is_nan(type, bits) {
  if (type === 'f32') return (bits & 0x7fffffff) > 0x7f800000;
  return type === 'f16' && (bits & 0x7fff) > 0x7c00;
}

/** Adds the leaves of elements that differ. */
function compare(given, got, differences) {
  const expected = Buffer.from(given.after, 'hex');
  for (let first = 0; first + given.stride <= expected.length; first += given.stride) {
    for (const { offset, type } of given.fields) {
      const at = first + offset;
      const word = buffer => type === 'f16' ? buffer.readUInt16LE(at) : buffer.readUInt32LE(at);
      const [is, was] = [word(expected), word(got)];
      if (is !== was && !(is_nan(type, is) && is_nan(type, was))) {
        differences.push({ binding: given.binding, at, type, expected: is, got: was });
      }
    }
  }
}

function is_sign_of_zero({ type, expected, got }) {
  return type === 'f32' && ((expected | got) << 1) === 0;
}

const float_of = bits => new Float32Array(new Uint32Array([bits]).buffer)[0];

/**
 * Where WGSL leaves operations to the device: whether most results of usual size are near what they
 * should be. Its bounds are wide, and it has none for special values and large arguments.
 */
function are_close(one, differences) {
  const is_usual = value => Math.abs(value) > 1e-3 && Math.abs(value) < 1e3;
  const far = differences.filter(({ type, expected, got }) => {
    if (type !== 'f32') return true;
    const [a, b] = [float_of(expected), float_of(got)];
    return is_usual(a) && !(Math.abs(a - b) <= 2 ** -9 * Math.max(1, Math.abs(a)));
  });
  let usual = 0;
  for (const { after } of one.buffers) {
    const bytes = Buffer.from(after, 'hex');
    for (let at = 0; at + 4 <= bytes.length; at += 4) usual += is_usual(bytes.readFloatLE(at));
  }
  return 4 * far.length <= usual;
}

async function run(files) {
  const device = await open('opengl');
  const most = device.limits.maxStorageBuffersPerShaderStage;
  const counts = { exact: 0, signs: 0, near: 0, failed: 0 };
  let exact;  // a launch that computed something
  const skipped = new Map();
  const leave_out = reason => skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  for (const gallery of read(files)) {
    for (const [reason, count] of Object.entries(gallery.skipped)) {
      skipped.set(reason, (skipped.get(reason) ?? 0) + count);
    }
    for (const one of gallery.launches) {
      if (one.buffers.length > most) {
        leave_out(`over ${most} storage buffers`);
        continue;
      }
      if (one.code.startsWith('enable f16') && !device.features.has('shader-f16')) {
        leave_out('f16, which this device lacks');
        continue;
      }
      const threads = one.block[0] * one.block[1] * one.block[2];
      if (threads > device.limits.maxComputeInvocationsPerWorkgroup) {
        leave_out('a block too large');
        continue;
      }
      let differences;
      try {
        differences = await launch(device, one);
      } catch (error) {
        console.log(`FAILED ${one.name}: ${error.message}\n${one.code}`);
        ++counts.failed;
        continue;
      }
      if (differences.length === 0) {
        if (one.buffers.some(buffer => buffer.before !== buffer.after)) exact ??= one;
        ++counts.exact;
        continue;
      }
      if (differences.every(is_sign_of_zero)) {
        ++counts.signs;
        continue;
      }
      if (one.loose.length > 0 && are_close(one, differences)) {
        ++counts.near;
        continue;
      }
      const { binding, at, type, expected, got } = differences[0];
      console.log(
          `FAILED ${one.name} (${one.loose}): ${differences.length} differ; binding ${binding}, ` +
          `byte ${at}, ${type}: expected ${expected.toString(16)}, got ${got.toString(16)}`);
      if (++counts.failed <= 3) console.log(one.code);
    }
  }
  console.log(
      `${counts.exact} launches have the interpreter's bits, ${counts.signs} but for the sign of ` +
      `a zero, which WGSL does not keep, ${counts.near} are near them where WGSL leaves ` +
      `operations to the device, ${counts.failed} failed`);
  for (const [reason, count] of [...skipped].sort()) console.log(`  left out ${count}: ${reason}`);
  return await sees_a_wrong_bit(device, exact) && counts.failed === 0;
}

/** What the check is worth: a result with one bit changed is not taken. */
async function sees_a_wrong_bit(device, one) {
  if (one === undefined) return false;
  const wrong = structuredClone(one);
  for (const buffer of wrong.buffers) {
    buffer.after = (parseInt(buffer.after[0], 16) ^ 1).toString(16) + buffer.after.slice(1);
  }
  if ((await launch(device, wrong)).length > 0) return true;
  console.log(`FAILED a wrong bit of ${one.name} was not seen`);
  return false;
}

const [what, ...files] = process.argv.slice(2);
const ok = what === 'validate' ? await validate(files) : await run(files);
process.exit(ok ? 0 : 1);
