// A list of the API as a table: rows that open, keyset pages, states of loading, emptiness
// and failure, and the keyboard: j and k move, Enter opens, x selects.
import { html, useEffect, useRef, useState } from '../lib/core.js';
import { address, request } from '../api.js';
import { t } from '../i18n.js';
import { go, base } from '../router.js';
import { Bones, Button, Failed, Icon, useEscape } from './base.js';
import { attempt } from './float.js';

/**
 * @param {{list: any, columns: {name: any, class?: string, cell: (row: any) => any, hide?: boolean}[], empty: any, open?: (row: any) => string|null,
 * label: string, selected?: Set<string>, onSelect?: (ids: Set<string>) => void, fresh?: (n: number) => string, key?: (row: any) => string, top?: boolean, searched?: any}} props
 * list is useList's; open returns a row's page; hide: the column's name is for screen readers only; searched: the text for how far a search came.
 */
export function Table({ list, columns, empty, open, label, selected, onSelect, fresh, key: keyOf = (row) => row.id, top = false, searched }) {
	const body = useRef(/** @type {any} */ (null));
	const [cursor, setCursor] = useState(-1);
	const { rows } = list;
	useEffect(() => {
		const keys = (/** @type {any} */ e) => {
			if (e.target.closest?.('input, textarea, select, [role="dialog"], dialog, [contenteditable]') || e.metaKey || e.ctrlKey || e.altKey) return;
			const step = { j: 1, k: -1 }[e.key];
			if (step) {
				const to = Math.max(0, Math.min(rows.length - 1, cursor + step));
				setCursor(to);
				body.current?.children[to]?.scrollIntoView({ block: 'nearest' });
			} else if (cursor >= 0 && e.key === 'Enter' && open && e.target === document.body) go(open(rows[cursor])?.replace(base, '') ?? '');
			else if (cursor >= 0 && e.key === 'x' && onSelect) toggle(keyOf(rows[cursor]));
		};
		addEventListener('keydown', keys);
		return () => removeEventListener('keydown', keys);
	});
	const toggle = (id) => {
		const now = new Set(selected);
		if (!now.delete(id)) now.add(id);
		onSelect?.(now);
	};
	if (list.error && !rows.length) return html`<${Failed} error=${list.error} retry=${list.reload} />`;
	if (list.loading) return html`<${Bones} />`;
	if (!rows.length && !list.page?.has_more) return empty;
	const all = rows.length > 0 && rows.every((row) => selected?.has(keyOf(row)));
	return html`${list.fresh > 0 && html`<button type="button" class="newbar" onClick=${() => {
		window.scrollTo(0, 0);
		list.reload();
	}}>${fresh ? fresh(list.fresh) : t('ui.fresh')}</button>`}
	<table class=${`table table--rows table--fixed ${top ? 'table--top' : ''}`} aria-label=${label}><thead><tr>
		${selected && html`<th class="cell-check" scope="col"><${SelectAll} all=${all} some=${selected.size > 0} onChange=${(on) => onSelect?.(new Set(on ? rows.map(keyOf) : []))} /></th>`}
		${columns.map((c) => html`<th scope="col" class=${(c.class ?? '').replace('cell-cut', '')}>${c.hide ? html`<span class="vh">${c.name}</span>` : c.name}</th>`)}</tr></thead>
	<tbody ref=${body}>${rows.map((row, i) => html`<tr key=${keyOf(row)} class=${`${i === cursor ? 'is-cursor' : ''} ${open ? 'is-link' : ''}`} aria-selected=${selected?.has(keyOf(row)) ? 'true' : undefined} onClick=${open && ((e) => {
		const to = open(row);
		if (to && !e.target.closest('a, button, input, label') && !String(getSelection())) go(to.replace(base, ''));
	})}>
		${selected && html`<td class="cell-check"><label class="check"><input type="checkbox" aria-label=${t('ui.selectRow')} checked=${selected.has(keyOf(row))} onChange=${() => toggle(keyOf(row))} /></label></td>`}
		${columns.map((c) => html`<td class=${c.class ?? ''}>${c.cell(row)}</td>`)}</tr>`)}</tbody></table>
	<${Foot} list=${list} searched=${searched} />`;
}

function SelectAll({ all, some, onChange }) {
	const box = useRef(/** @type {any} */ (null));
	useEffect(() => {
		box.current.indeterminate = some && !all;
	});
	return html`<label class="check"><input type="checkbox" ref=${box} aria-label=${t('ui.selectAll')} checked=${all} onChange=${(e) => onChange(e.currentTarget.checked)} /></label>`;
}

/** The foot of a list, which loads more. searched: the text for how far a search came. @param {{list: any, searched?: any}} props */
export function Foot({ list, searched }) {
	if (list.error) return html`<div class="table-foot" role="alert"><${Icon} name="alert" /> ${list.error.message} <${Button} onClick=${list.more}>${t('ui.again')}<//></div>`;
	if (!list.page?.has_more) return searched ? html`<div class="table-foot">${searched}</div>` : null;
	return html`<div class="table-foot">${searched}<${Button} onClick=${list.more}>${t('ui.more')}<//></div>`;
}

/** The bar at the foot while rows are selected: count, actions, Esc. @param {{n: number, clear: () => void, children: any}} props */
export function Bulk({ n, clear, children }) {
	useEscape(clear);
	return html`<div class="bulk" role="region" aria-label=${t('ui.selection')}><span>${t('ui.selected', { n })}</span>${children}<${Button} kind="quiet" onClick=${clear}>${t('ui.clear')} <span class="kbd">Esc</span><//></div>`;
}

/**
 * Downloads a list as CSV, with the filters that it is shown with.
 * @param {{path: string, query?: Record<string, any>, name: string, team?: string|null}} props
 */
export function Csv({ path, query, name, team }) {
	const get = () => attempt(async () => {
		const answer = await request('GET', path, { query, team, headers: { Accept: 'text/csv' } });
		const a = document.createElement('a');
		a.href = URL.createObjectURL(await answer.blob());
		a.download = `${name}.csv`;
		a.click();
		setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
	});
	return html`<${Button} icon="download" label=${t('ui.csv')} onClick=${get} />`;
}

export { address };
