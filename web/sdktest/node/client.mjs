// Resend's client for the scripts of this folder, which notes the public methods
// that they call in the file that CALLS names.
import { appendFileSync } from 'node:fs';
import { Resend as Plain } from 'resend';

const called = new Set();
if (process.env.CALLS) process.on('exit', () => appendFileSync(process.env.CALLS, [...called].join('\n')));

// noting is target as it is, but for the note. Methods run on the target itself,
// so that what they call in turn is none of the script's calls.
function noting(target, path) {
  return new Proxy(target, {
    get(_, name) {
      const value = target[name];
      if (typeof value === 'function') {
        return (...args) => {
          called.add(path + name);
          return value.apply(target, args);
        };
      }
      return typeof value === 'object' && value !== null ? noting(value, `${path}${name}.`) : value;
    },
  });
}

export class Resend {
  constructor(...args) {
    return noting(new Plain(...args), '');
  }
}
