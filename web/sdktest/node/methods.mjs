// Prints every method of Resend's client and of its parts, one a line.
import { Resend } from 'resend';

const resend = new Resend('re_key');
const seen = new Set([resend]);

function walk(object, path) {
  for (let p = Object.getPrototypeOf(object); p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    for (const name of Object.getOwnPropertyNames(p)) {
      if (name !== 'constructor' && typeof object[name] === 'function') console.log(path + name);
    }
  }
  for (const [name, part] of Object.entries(object)) {
    if (typeof part !== 'object' || part === null || seen.has(part) || part instanceof Headers) continue;
    seen.add(part);
    walk(part, `${path}${name}.`);
  }
}

walk(resend, '');
