// Formats of numbers, sizes, times and durations.
import { language, t } from './i18n.js';

/** @param {number} n @param {Intl.NumberFormatOptions} [options] */
export const number = (n, options) => new Intl.NumberFormat(language.value, options).format(n);

/** A part of 1 as per cent. @param {number} part @param {number} [digits] */
export const percent = (part, digits = 1) => number(part * 100, { minimumFractionDigits: digits, maximumFractionDigits: digits }) + '\u2009%';

/** 12,345 as 12.3k. @param {number} n */
export const short = (n) => number(n, { notation: 'compact', maximumFractionDigits: 1 });

/** @param {number} bytes */
export function size(bytes) {
	const units = ['B', 'kB', 'MB', 'GB', 'TB'];
	let i = 0;
	while (bytes >= 1000 && i < units.length - 1) {
		bytes /= 1000;
		i++;
	}
	return `${number(bytes, { maximumFractionDigits: i && bytes < 100 ? 1 : 0 })}\u00a0${units[i]}`;
}

/** Seconds as "14 min", "2 h 40 min", "3 d". @param {number} seconds */
export function duration(seconds) {
	const s = Math.max(0, Math.round(seconds));
	if (s < 60) return t('time.s', { n: s });
	const min = Math.floor(s / 60);
	if (min < 60) return t('time.min', { n: min });
	const h = Math.floor(min / 60);
	if (h < 10 && min % 60) return `${t('time.h', { n: h })} ${t('time.min', { n: min % 60 })}`;
	if (h < 48) return t('time.h', { n: h });
	return t('time.d', { n: Math.floor(h / 24) });
}

/** @param {string|Date} at */
export const exact = (at) => new Date(at).toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');

/** A time of this day as 14:32, of another as 3 Nov, 14:32. @param {string|Date} at */
export function clock(at) {
	const d = new Date(at);
	const today = d.toDateString() === new Date().toDateString();
	return new Intl.DateTimeFormat(language.value, today ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } : { day: 'numeric', month: 'short', ...(d.getFullYear() === new Date().getFullYear() ? {} : { year: 'numeric' }), hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(d);
}

/** A time of this day with its seconds, as 14:32:08. @param {string|Date|number} at */
export const seconds = (at) => new Intl.DateTimeFormat(language.value, { timeStyle: 'medium', hourCycle: 'h23' }).format(new Date(at));

/** A time with its seconds, and with its day where that is not this one. @param {string|Date} at */
export const stamp = (at) => (new Date(at).toDateString() === new Date().toDateString() ? seconds(at) : t('time.joined', { one: day(at), two: seconds(at) }));

/** The time between two, as a log has it: 9 ms, 1.2 s, 3 min. @param {string} from @param {string} to */
export function gap(from, to) {
	const ms = Math.max(0, new Date(to).getTime() - new Date(from).getTime());
	if (ms < 1000) return t('email.ms', { ms });
	return ms < 60_000 ? t('time.s', { n: Math.round(ms / 100) / 10 }) : duration(ms / 1000);
}

/** A day as 20 Nov. @param {string|Date} at */
export const day = (at) => new Intl.DateTimeFormat(language.value, { day: 'numeric', month: 'short' }).format(new Date(at));

/** A relative time, in a word or two. @param {string|Date} at */
export function relative(at) {
	const s = (Date.now() - new Date(at).getTime()) / 1000;
	if (Math.abs(s) < 1) return t('time.now');
	return s > 0 ? duration(s) : t('time.in', { span: duration(-s) });
}

/** A relative time as a phrase of its own. @param {string|Date} at */
export function ago(at) {
	const said = relative(at);
	return Date.now() - new Date(at).getTime() < 1000 ? said : t('time.ago', { span: said });
}

/** The name and the address of "Ann <ann@example.com>". @param {string} mailbox */
export function mailbox(mailbox) {
	const m = /^\s*"?(.*?)"?\s*<([^<>]+)>\s*$/.exec(mailbox);
	return m ? { name: m[1], address: m[2] } : { name: '', address: mailbox };
}

/** An address with the name of a team before it. @param {string} name @param {string} address */
export const sender = (name, address) => (!name ? address : /^[^()<>[\]:;@\\,."]+$/.test(name) ? `${name} <${address}>` : `"${name.replace(/["\\]/g, '\\$&')}" <${address}>`);
