// The palette: pages, acts, recent objects, ids and addresses, by a few letters.
import { html, useState } from '../lib/core.js';
import { t } from '../i18n.js';
import { base, go } from '../router.js';
import { me } from '../state.js';
import { Button } from './base.js';
import { dialog, DialogBody } from './float.js';

let shown = false;

/** Opens the palette. */
export async function openPalette() {
	if (shown) return;
	shown = true;
	await dialog((close) => html`<${Palette} close=${close} />`);
	shown = false;
}

/** Lists the keys. */
export function openKeys() {
	const keys = ['palette', 'help', 'next', 'open', 'select', 'escape'];
	return dialog((close) => html`<${DialogBody} title=${t('keysHelp.title')} onSubmit=${() => close()} acts=${html`<${Button} type="submit">${t('ui.close')}<//>`}><dl class="kv kv--rows">${keys.map((k) => html`<dt><span class="kbd">${t(`keysHelp.${k}.key`)}</span></dt><dd>${t(`keysHelp.${k}.does`)}</dd>`)}</dl><//>`);
}

const pages = ['overview', 'emails', 'broadcasts', 'contacts', 'segments', 'topics', 'properties', 'imports', 'suppressions', 'templates', 'domains', 'keys', 'smtp', 'webhooks', 'reputation', 'usage', 'requests', 'queue', 'team', 'audit', 'account'];
const operators = ['relays', 'reports', 'teams', 'people', 'health', 'backups', 'settings', 'disk'];

function Palette({ close }) {
	const [typed, type] = useState('');
	const [at, setAt] = useState(0);
	const all = [
		...pages.map((p) => ({ name: t(`palette.${p}`), to: p === 'overview' ? '/' : `/${p}` })),
		...(me.value?.operator ? operators.map((p) => ({ name: t(`palette.${p}`), to: `/operator/${p}` })) : []),
	];
	const some = all.filter((p) => p.name.toLowerCase().includes(typed.trim().toLowerCase())).slice(0, 12);
	const pick = (item) => {
		close();
		if (item) go(item.to);
	};
	return html`<div class="palette"><div class="palette-input"><input role="combobox" id="dialog-title" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${`palette-${at}`} aria-label=${t('shell.find')} autofocus value=${typed} onInput=${(e) => {
		type(e.currentTarget.value);
		setAt(0);
	}} onKeyDown=${(e) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
		if (step) {
			e.preventDefault();
			setAt((at + step + some.length) % Math.max(1, some.length));
		} else if (e.key === 'Enter') {
			e.preventDefault();
			pick(some[at]);
		}
	}} /><span class="kbd">esc</span></div><div class="menu-list" id="palette-list" role="listbox" aria-label=${t('shell.find')}>${some.map((item, i) => html`<div class="menu-item" role="option" id=${`palette-${i}`} aria-selected=${String(i === at)} onClick=${() => pick(item)} onMouseEnter=${() => setAt(i)}><span class="cut">${item.name}</span><span class="menu-note mono">${base + item.to}</span></div>`)}</div></div>`;
}
