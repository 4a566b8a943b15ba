// The source of an email: its parts as text, and its headers.
import { html } from './lib/core.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { Button, Code, Empty } from './ui/base.js';

/** Lengths up to which source is shown; the rest is for a download. */
export const shownLength = 200_000;

/** Has the browser save a text, or bytes. @param {string|Uint8Array<ArrayBuffer>} text @param {string} file */
export function save(text, file) {
	const a = document.createElement('a');
	a.href = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
	a.download = file;
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}

/** A part as text. bytes are what a download gets where the text is not exact. @param {{text: string|null, bytes?: any, name: string, file: string, none?: string}} props */
export function Source({ text, bytes, name, file, none }) {
	if (!text) return html`<${Empty} icon="code" title=${none} />`;
	const long = text.length > shownLength;
	return html`<div class="stack stack--2"><div class="wide"><${Code} name=${`${name}, ${size(new Blob([text]).size)}`} code=${long ? text.slice(0, shownLength) : text} /></div>
	${long && html`<p class="t12 muted">${t('email.cutOff', { n: shownLength })} <${Button} icon="download" onClick=${() => save(bytes ?? text, file)}>${t('email.download')}<//></p>`}</div>`;
}

/** Header fields: [name, value]. @param {{lines: any[][]}} props */
export const HeaderTable = ({ lines }) => html`<table class="table table--top"><thead class="vh"><tr><th>${t('email.header')}</th><th>${t('email.value')}</th></tr></thead><tbody>${lines.map(([name, value]) => html`<tr><td class="mono header-name">${name}</td><td class="break"><bdi>${String(value)}</bdi></td></tr>`)}</tbody></table>`;
