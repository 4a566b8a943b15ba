// Charts: x in per cent and y in pixels, so that they stretch without their labels. Values are
// shown on hover and by keyboard, and in a table below.
import { html, useState } from '../lib/core.js';
import { t } from '../i18n.js';
import { Icon } from './base.js';

/** The next round number above a value, and the step of its lines. @param {number} most */
export function scaleOf(most) {
	if (!(most > 0)) return { top: 4, step: 2 };
	const power = 10 ** Math.floor(Math.log10(most));
	const step = [0.25, 0.5, 1, 2, 2.5, 5].map((f) => f * power).find((s) => most / s <= 4) ?? power * 5;
	return { top: Math.ceil(most / step - 1e-9) * step, step };
}

/** The minimum number of bars with a value for a chart; fewer are described in text. */
export const few = 3;

/**
 * Bars with a zero line, a few grid lines, and limits with their meaning. parts divides a bar from its
 * foot: [value, kind]; their sum is the bar's value.
 * @param {{label: string, bars: {name: string, axis?: string, value: number, parts?: [number, string][], note?: any, bad?: boolean, word?: string}[], show: (value: number) => string,
 * limits?: {value: number, word: string}[], height?: number, unit?: string, table?: boolean, least?: number}} props
 * axis is the bar's word below; note stands in its tip; word above it. least is the top of the scale at least.
 */
export function Bars({ label, bars, show, limits = [], height = 136, table = true, least = 0 }) {
	const [at, setAt] = useState(-1);
	const some = bars.filter((b) => b.value > 0);
	if (some.length < few) return html`<p class="t13r">${some.length ? some.map((b) => `${b.name}: ${show(b.value)}${b.note ? ` (${b.note})` : ''}`).join(' · ') : t('ui.noValues')}</p>`;
	const ground = height - 24;
	const { top, step } = scaleOf(Math.max(least, ...bars.map((b) => b.value), ...limits.map((l) => l.value)));
	// The label of a limit at the top needs a line of its own.
	const head = limits.some((l) => l.value > top * 0.8) ? 24 : 12;
	const y = (value) => head + (ground - head) * (1 - value / top);
	const lines = [];
	for (let v = 0; v <= top + step / 1e6; v += step) lines.push(v);
	const axes = bars.filter((b) => b.axis);
	const slot = 100 / Math.max(1, bars.length);
	const keys = (e) => {
		const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: bars.length - 1 }[e.key];
		if (to === undefined) return;
		e.preventDefault();
		setAt(Math.max(0, Math.min(bars.length - 1, to)));
	};
	const bar = bars[at];
	return html`<figure class="chart-figure" aria-label=${label}><div class="chart"><svg height=${height} aria-hidden="true">${lines.map((v) => html`<text class="c-y" x="100%" y=${y(v) + 4}>${show(v)}</text>`)}</svg>
	<div class="chart-plot"><svg height=${height} role="img" tabindex="0" aria-label=${bar ? `${bar.name}: ${show(bar.value)}${typeof bar.note === 'string' ? `, ${bar.note}` : ''}` : label} onKeyDown=${keys} onFocus=${() => at < 0 && setAt(bars.length - 1)} onBlur=${() => setAt(-1)} onMouseLeave=${() => setAt(-1)}>
		${lines.map((v) => html`<line class=${v ? 'c-grid' : 'c-base'} x1="0" x2="100%" y1=${y(v)} y2=${y(v)} />`)}
		${bars.map((b, i) => stacked(b).map(([from, to, kind]) => html`<rect class=${`c-bar ${kind} ${i === at ? 'is-on' : ''}`} x=${`${slot * (i + 0.16)}%`} width=${`${slot * 0.68}%`} y=${y(to)} height=${Math.max(0, y(from) - y(to))} />`))}
		${bars.map((b, i) => b.word && html`<text class=${b.bad ? 'c-bad c-x' : 'c-value c-x'} x=${`${slot * (i + 0.5)}%`} y=${y(b.value) - 5}>${b.word}</text>`)}
		${limits.map((l) => html`<line class="c-limit" x1="0" x2="100%" y1=${y(l.value)} y2=${y(l.value)} /><text class="c-limit-word c-start" x="0" y=${y(l.value) - 5}>${l.word}</text>`)}
		${bars.map((b, i) => b.axis && html`<text class=${`c-x ${axes.indexOf(b) % 2 ? 'c-minor' : ''}`} x=${`${slot * (i + 0.5)}%`} y=${height - 6}>${b.axis}</text>`)}
		${bars.map((_, i) => html`<rect class="c-hit" x=${`${slot * i}%`} width=${`${slot}%`} y="0" height=${ground} onMouseEnter=${() => setAt(i)} />`)}
	</svg>${bar && html`<${Tip} share=${(at + 0.5) / bars.length}><b>${bar.name}</b><br />${show(bar.value)}${bar.note && html`<br /><span class="muted">${bar.note}</span>`}<//>`}</div></div>
	${table && html`<details class="fold"><summary><${Icon} name="right" />${t('ui.asTable')}</summary><table class="table"><thead><tr><th>${t('ui.when')}</th><th class="num">${label}</th></tr></thead><tbody>${bars.map((b) => html`<tr><td>${b.name}</td><td class="num">${b.note && html`<span class="muted">${b.note} · </span>`}${show(b.value)}</td></tr>`)}</tbody></table></details>`}</figure>`;
}

/** The parts of a bar from its foot: where each begins and ends, and its kind. @param {any} bar @returns {[number, number, string][]} */
function stacked({ value, parts, bad }) {
	if (!parts) return [[0, value, bad ? 'is-over' : '']];
	let from = 0;
	return parts.filter(([n]) => n > 0).map(([n, kind]) => [from, (from += n), kind ? `is-${kind}` : '']);
}

/** The legend of the parts of bars: [kind, text]. @param {{of: string[][]}} props */
export const Legend = ({ of }) => html`<ul class="legend">${of.map(([kind, words]) => html`<li><svg width="10" height="10" aria-hidden="true"><rect class=${`c-bar ${kind && `is-${kind}`}`} width="10" height="10" rx="2" /></svg>${words}</li>`)}</ul>`;

// The tip stands over its bar by the twelfth of the width: a style can't say where, and a
// class can.
const Tip = ({ share, children }) => html`<div class=${`tip tip--at tip--${Math.min(11, Math.floor(share * 12))}`} aria-hidden="true">${children}</div>`;

/** A row of small bars without axes. @param {{values: number[], label: string}} props */
export function Spark({ values, label }) {
	const most = Math.max(1, ...values);
	const slot = 100 / values.length;
	return html`<svg class="spark" role="img" aria-label=${label}><line class="c-base" x1="0" x2="100%" y1="19.5" y2="19.5" />${values.map((v, i) => v > 0 && html`<rect class="c-bar" x=${`${slot * (i + 0.1)}%`} width=${`${slot * 0.8}%`} y=${19 - Math.max(1, 18 * v / most)} height=${Math.max(1, 18 * v / most)} />`)}</svg>`;
}

/** A part of a whole as a bar. @param {{part: number, label: string, kind?: string, thick?: boolean}} props part is 0 to 1. */
export const Meter = ({ part, label, kind = '', thick = false }) => html`<svg class=${`meter ${thick ? 'meter--6' : ''}`} role="img" aria-label=${label}><rect class="meter-ground" width="100%" height="100%" rx="2" /><rect class=${`meter-fill ${kind && `is-${kind}`}`} width=${`${100 * Math.max(0, Math.min(1, part))}%`} height="100%" rx="2" /></svg>`;

/** A rate on a scale with a tick at each line. @param {{value: number, lines: number[], label: string}} props value and lines in the same unit; the last line stands at five sixths. */
export function Scale({ value, lines, label }) {
	const top = lines[lines.length - 1] * 1.2;
	const kind = value >= lines[lines.length - 1] ? 'is-bad' : value >= lines[0] * 0.8 ? 'is-warn' : '';
	const x = (v) => `${100 * Math.min(1, v / top)}%`;
	return html`<svg class="scale" role="img" aria-label=${label}><rect class="scale-ground" y="4" width="100%" height="4" rx="2" /><rect class=${`scale-fill ${kind}`} y="4" width=${x(value)} height="4" rx="2" />${lines.map((v) => html`<line class="scale-line" x1=${x(v)} x2=${x(v)} y1="0" y2="12" />`)}</svg>`;
}
