// The query box of the emails: filters as tokens in one field, completed by a menu.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { t } from './i18n.js';
import { completions, read, statuses, written } from './emails-query.js';
import { Icon, Select, Status } from './ui/base.js';

/**
 * @param {{filters: Record<string, string>, wrong: Record<string, string>, known: any, onChange: (filters: Record<string, string>) => void, onNeed: () => void}} props
 * onNeed: the lists of names are wanted.
 */
export function QueryBox({ filters, wrong, known, onChange, onNeed }) {
	const [typed, type] = useState('');
	const [shown, show] = useState(false);
	const [chosen, setAt] = useState(-1);
	const input = useRef(/** @type {any} */ (null));
	const box = useRef(/** @type {any} */ (null));
	useEffect(() => {
		const slash = (/** @type {any} */ e) => {
			if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, textarea, select, dialog, [contenteditable]')) return;
			e.preventDefault();
			input.current.focus();
		};
		const away = (/** @type {any} */ e) => box.current?.contains(e.target) || show(false);
		addEventListener('keydown', slash);
		addEventListener('pointerdown', away);
		return () => {
			removeEventListener('keydown', slash);
			removeEventListener('pointerdown', away);
		};
	}, []);
	const { name, items, sure = false } = shown ? completions(typed, known) : { name: '', items: [] };
	const at = chosen < 0 && sure ? 0 : chosen;
	const put = (more) => {
		onChange({ ...filters, ...more });
		type('');
		setAt(-1);
	};
	const take = (item) => {
		if (item.value === undefined) {
			type(`${item.key}:`);
			setAt(-1);
			onNeed();
		} else {
			put({ [item.key]: item.value });
			show(false);
		}
		input.current.focus();
	};
	const edit = (key) => {
		const { [key]: value, ...rest } = filters;
		onChange(rest);
		type(written(key, value));
		show(true);
		input.current.focus();
	};
	const onKey = (e) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
		if (step) {
			e.preventDefault();
			if (!shown) show(true);
			else if (items.length) setAt(at < 0 && step < 0 ? items.length - 1 : (at + step + items.length) % items.length);
		} else if (e.key === 'Escape') {
			if (!shown && typed) type('');
			show(false);
			setAt(-1);
		} else if (e.key === 'Tab' && shown && typed.trim() && items.length && !e.shiftKey) {
			e.preventDefault();
			const best = items.find((item) => item.value !== undefined && !typed.endsWith(item.value)) ?? items[0];
			take(at >= 0 ? items[at] : best);
		} else if (e.key === 'Enter') {
			e.preventDefault();
			if (at >= 0 && items[at]) take(items[at]);
			else if (typed.trim()) {
				if (/^[a-z]+:\s*$/i.test(typed)) return;
				put(read(typed));
				show(false);
			} else show(false);
		} else if (e.key === 'Backspace' && !typed && Object.keys(filters).length) {
			e.preventDefault();
			edit(Object.keys(filters)[Object.keys(filters).length - 1]);
		}
	};
	const bad = Object.entries(wrong);
	return html`<div class="query" ref=${box}><div class="query-box" onClick=${(e) => e.target === e.currentTarget && input.current.focus()}><${Icon} name="search" />
		${Object.entries(filters).map(([key, value]) => html`<span class=${`token query-token ${wrong[key] ? 'is-bad' : ''}`} key=${key}><button type="button" title=${wrong[key] ?? t('emails.editToken')} aria-label=${`${t('emails.editToken')}: ${written(key, value)}`} onClick=${() => edit(key)}><b>${key}:</b><bdi>${value}</bdi></button><button type="button" aria-label=${t('emails.dropToken', { token: written(key, value) })} onClick=${() => {
			const { [key]: gone, ...rest } = filters;
			onChange(rest);
			input.current.focus();
		}}><${Icon} name="x" /></button></span>`)}
		<input class="query-input" ref=${input} role="combobox" aria-expanded=${String(shown && items.length > 0)} aria-controls="completion" aria-autocomplete="list" aria-activedescendant=${at >= 0 ? `completion-${at}` : undefined} aria-label=${t('emails.search')} aria-describedby=${bad.length ? 'query-wrong' : undefined}
			placeholder=${Object.keys(filters).length ? '' : t('emails.placeholder')} value=${typed} spellcheck=${false} autocomplete="off" onFocus=${onNeed} onClick=${() => show(true)} onKeyDown=${onKey} onInput=${(e) => {
				type(e.currentTarget.value);
				show(true);
				setAt(-1);
				onNeed();
			}} /></div>
		${bad.length > 0 && html`<p class="query-wrong field-error" id="query-wrong" role="alert"><${Icon} name="alert" />${bad.map(([, text]) => text).filter((text, i, all) => all.indexOf(text) === i).join(' ')}</p>`}
		${shown && items.length > 0 && html`<div class="menu"><div role="listbox" id="completion" class="query-list" aria-label=${t('emails.completion')}><div class="menu-name" role="presentation">${name}</div>
		${items.map((item, i) => html`<div class="menu-item" role="option" id=${`completion-${i}`} key=${`${item.key}:${item.value ?? ''}`} aria-selected=${String(i === at)} onMouseDown=${(e) => e.preventDefault()} onClick=${() => take(item)}>${item.status ? html`<${Status} of=${item.status} word=${item.value} />` : html`<span class="mono cut">${item.key}:${item.value ?? ''}</span>`}<span class="menu-note cut">${item.note}</span></div>`)}</div>
		<div class="menu-foot hide-s"><span><span class="kbd">↑</span><span class="kbd">↓</span> ${t('emails.foot.choose')}</span><span><span class="kbd">⇥</span> ${t('emails.foot.take')}</span><span><span class="kbd">↵</span> ${t('emails.foot.search')}</span></div></div>`}</div>`;
}

const spans = ['1h', '24h', '7d', '30d'];

/**
 * The filters that readers use most, as choices: status, date and domain.
 * @param {{filters: Record<string, string>, domains: any[]|undefined, onChange: (filters: Record<string, string>) => void}} props
 */
export function Picks({ filters, domains = [], onChange }) {
	const pick = (key) => (value) => {
		const { [key]: gone, ...rest } = filters;
		onChange(value ? { ...rest, [key]: value } : rest);
	};
	// A value that is no choice of these was typed, and is shown as it was.
	const choice = (key, label, any, options) => html`<${Select} bare label=${label} value=${filters[key] ?? ''} onChange=${pick(key)} options=${[['', any], ...options, ...(filters[key] && !options.some(([value]) => value === filters[key]) ? [[filters[key], filters[key]]] : [])]} />`;
	return html`<div class="picks">${choice('status', t('emails.status'), t('emails.pick.anyStatus'), statuses.map((s) => [s, t(`status.${s}`)]))}
	${choice('after', t('emails.pick.date'), t('emails.pick.anyDate'), spans.map((s) => [s, t(`emails.pick.since.${s}`)]))}
	${(domains.length > 1 || filters.domain) && choice('domain', t('emails.pick.domain'), t('emails.pick.anyDomain'), domains.map((d) => [d.name, d.name]))}</div>`;
}
