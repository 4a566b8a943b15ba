// Automations: flows of steps that run for contacts.
import { html, useEffect, useState } from './lib/core.js';
import { api, ApiError, useList } from './api.js';
import { acts } from './automation-acts.js';
import { BroadcastSections } from './broadcast-sections.js';
import { newKey } from './automation-flow.js';
import { AutomationStatus } from './automation-head.js';
import { triggerWords, useParts } from './automation-words.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go, place, setQuery } from './router.js';
import { Button, Empty, Head, Input, Select, Time } from './ui/base.js';
import { form } from './ui/audience.js';
import { Menu } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

const pageOf = (row) => base + encoded`/automations/${row.id}`;

/** Asks for a name and a trigger, and opens the new automation. @param {any} parts */
async function create(parts) {
	const named = await form({
		title: t('automations.new'), act: t('automations.next'), start: { name: '' },
		fields: (v, set) => html`<${Input} label=${t('automations.name')} hint=${t('automations.nameHint')} required maxlength="200" autofocus value=${v.name} onInput=${(name) => set({ name })} /><p class="muted t13r">${t('automations.newText')}</p>`,
		send: async (v) => ({ name: v.name.trim() }),
	});
	if (!named) return;
	const step = { key: newKey({ main: { items: [], ends: false }, loose: [] }, 'trigger'), type: 'trigger', config: {} };
	const { editStep } = await import('./automation-step.js');
	const made = await editStep(step, parts, [step], true, (config) => api.post('/automations', { name: named.name, status: 'disabled', steps: [{ ...step, config }], connections: [] }));
	if (made) go(encoded`/automations/${made.id}`);
}

/** A number, or nothing where it is not known yet. @param {number|undefined} n */
const count = (n) => (n === undefined ? '–' : number(n));

/** The page. */
export default function Automations() {
	const status = place.value.query.get('status') ?? '';
	const list = useList('/automations', { status }, { limit: 25 });
	const details = useDetails(list.rows);
	const parts = useParts();
	const add = html`<${Button} kind="primary" icon="plus" onClick=${() => create(parts)}>${t('automations.new')}<//>`;
	const none = status ? html`<${Empty} icon="flow" title=${t('automations.noneFound')} act=${html`<${Button} onClick=${() => setQuery({ status: null })}>${t('contacts.showAll')}<//>`} />`
		: html`<${Empty} ghost=${[[t('automations.ghostOne'), number(412), number(318)], [t('automations.ghostTwo'), number(58), number(49)]]} icon="flow" title=${t('automations.none')} act=${add}>${t('automations.noneText')}<//>`;
	return html`<${Head} title=${t('automations.title')}><${Csv} path="/automations" name="automations" />${(list.rows.length > 0 || status) && add}<//><${BroadcastSections} at="automations" />
	${(list.rows.length > 0 || status) && html`<div class="tools tools--under"><${Select} bare label=${t('automations.status')} value=${status} options=${[['', t('automations.anyStatus')], ['enabled', t('automations.isEnabled')], ['disabled', t('automations.isDisabled')]]} onChange=${(to) => setQuery({ status: to })} /></div>`}
	<${Table} list=${list} label=${t('automations.title')} open=${pageOf} empty=${none} columns=${[
		{ name: t('automations.name'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${pageOf(row)} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub"><${AutomationStatus} of=${row} />${details[row.id] && ` · ${t('automations.running')} ${number(details[row.id].running)}`}</span>` },
		{ name: t('automations.status'), class: 'w-status hide-s', cell: (row) => html`<${AutomationStatus} of=${row} />` },
		{ name: t('automations.types.trigger'), class: 'w-part cell-cut drop-1', cell: (row) => {
			const words = details[row.id] && triggerWords(details[row.id].trigger, parts);
			return html`<span title=${words}>${words ?? '…'}</span>`;
		} },
		{ name: t('automations.running'), class: 'w-count num hide-s', cell: (row) => count(details[row.id]?.running) },
		{ name: t('automations.completed'), class: 'w-count num hide-s', cell: (row) => count(details[row.id]?.completed) },
		{ name: t('automations.changed'), class: 'w-age num muted drop-2', cell: (row) => html`<${Time} at=${row.updated_at ?? row.created_at} />` },
		{ name: t('ui.acts'), hide: true, class: 'cell-acts w-acts', cell: (row) => html`<${Menu} kind="quiet" label=${t('automations.actsOf', { name: row.name })} items=${[{ icon: 'edit', name: t('ui.edit'), href: pageOf(row) }, ...acts(row, { reload: list.reload, removed: list.reload })]} />` },
	]} />`;
}

/** The trigger and the numbers of runs of the automations of a list, by id: {trigger, running, completed}. @param {any[]} rows */
function useDetails(rows) {
	const [found, setFound] = useState(/** @type {Record<string, any>} */ ({}));
	const key = rows.map((row) => `${row.id} ${row.updated_at}`).join();
	useEffect(() => {
		const end = new AbortController();
		const left = [...rows];
		const next = async () => {
			for (let row = left.shift(); row; row = left.shift()) {
				const { id } = row;
				try {
					const [whole, report] = await Promise.all([api.get(encoded`/automations/${id}`, undefined, { signal: end.signal }), api.get(encoded`/automations/${id}/report`, undefined, { signal: end.signal })]);
					setFound((before) => ({ ...before, [id]: { trigger: whole.steps.find((/** @type {any} */ step) => step.type === 'trigger')?.config ?? {}, running: report.running, completed: report.completed } }));
				} catch (e) {
					if (end.signal.aborted) return;
					if (!(e instanceof ApiError)) throw e; // deleted meanwhile: the row has no numbers
				}
			}
		};
		for (let i = 0; i < 3; i++) next();
		return () => end.abort();
	}, [key]);
	return found;
}
