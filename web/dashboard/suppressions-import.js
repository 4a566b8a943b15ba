// A pasted or dropped list of addresses, suppressed in batches.
import { html, useMemo, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { Button, Input, Notice, Select } from './ui/base.js';
import { Meter } from './ui/chart.js';
import { DialogBody, toast } from './ui/float.js';
import { textOf } from './csv-head.js';

/** Addresses per request. */
const batch = 1000;

/** The addresses in a text of any shape: CSV, one a line, with names. Each once. @param {string} text */
export function addressesIn(text) {
	const found = new Map();
	for (const [address] of text.matchAll(/[^\s,;:<>"'()[\]]+@[^\s,;:<>"'()[\]@]+\.[^\s,;:<>"'()[\]@]+/g)) found.set(address.toLowerCase(), address);
	return [...found.values()];
}

/** The dialog; closes with whether something was added. @param {{close: (answer?: any) => void}} props */
export function ImportSuppressions({ close }) {
	const [text, setText] = useState('');
	const [origin, setOrigin] = useState('manual');
	const [done, setDone] = useState(-1);
	const [wrong, say] = useState('');
	const all = useMemo(() => addressesIn(text), [text]);
	const read = async (file) => file && setText(await textOf(file));
	const send = async () => {
		if (!all.length || done >= 0) return;
		say('');
		let at = 0;
		try {
			for (; at < all.length; at += batch) {
				setDone(at);
				await api.post('/suppressions/batch/add', { emails: all.slice(at, at + batch), origin });
			}
			toast(t('suppressions.imported', { n: all.length }));
			close(true);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(at ? t('suppressions.importPart', { n: at, said: e.message }) : e.message);
			setDone(-1);
		}
	};
	return html`<${DialogBody} title=${t('suppressions.importTitle')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close(false)}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!all.length || done >= 0}>${t('suppressions.importAct', { n: all.length })}<//>`}>
		<p>${t('suppressions.importText')}</p>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<div onDragOver=${(e) => e.preventDefault()} onDrop=${(e) => {
			e.preventDefault();
			read(e.dataTransfer.files[0]);
		}}><${Input} label=${t('suppressions.list')} hint=${text && t('suppressions.read', { n: all.length })} lines="6" mono value=${text} onInput=${setText} placeholder="ann@example.com" autofocus /></div>
		<${Input} label=${t('suppressions.file')} type="file" accept=".csv,.txt,text/*" value="" onInput=${() => {}} onChange=${(e) => read(e.currentTarget.files[0])} />
		<${Select} label=${t('suppressions.origin')} value=${origin} onChange=${setOrigin} options=${['manual', 'bounce', 'complaint', 'unsubscribe'].map((o) => [o, t(`suppressions.origins.${o}`)])} />
		${done >= 0 && html`<${Meter} part=${done / all.length} label=${t('suppressions.progress', { done, n: all.length })} />`}<//>`;
}
