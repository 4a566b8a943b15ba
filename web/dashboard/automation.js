// One automation: its flow as a canvas or as JSON, and the tabs beside it.
import { html, useEffect, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { Canvas } from './automation-canvas.js';
import { draftOf, flowText, keepDraft, savedTree } from './automation-draft.js';
import { faultOf, graphOf, treeOf } from './automation-flow.js';
import { AutomationHead, pathOf } from './automation-head.js';
import { AutomationReport } from './automation-report.js';
import { AutomationRuns } from './automation-runs.js';
import { AutomationSettings } from './automation-settings.js';
import { AutomationTest } from './automation-test.js';
import { useParts } from './automation-words.js';
import { about, useForm } from './gate.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, place } from './router.js';
import { mayAdmin } from './state.js';
import { Bones, Button, Check, Input, Notice, Seg } from './ui/base.js';
import { dialog, DialogBody, toast } from './ui/float.js';
import { form as askForm } from './ui/audience.js';

/** The pages by the last part of their address. @type {Record<string, any>} */
const tabs = { '': Flow, report: AutomationReport, runs: AutomationRuns, test: AutomationTest, settings: AutomationSettings };

/** The page. @param {{params: {id: string}}} props */
export default function Automation({ params }) {
	const got = useGet(pathOf(params.id));
	const tab = place.value.path.split('/')[3] ?? '';
	return html`<${AutomationHead} got=${got} id=${params.id} at=${tab} />${got.data ? html`<${tabs[tab]} key=${`${tab} ${got.data.version} ${tab === 'settings' ? got.data.updated_at : ''}`} of=${got.data} reload=${got.reload} />` : !got.error && html`<${Bones} />`}`;
}

/** The flow, and its changes that are not saved. @param {{of: any, reload: () => Promise<void>}} props */
function Flow({ of, reload }) {
	const draft = draftOf(of.id);
	const parts = useParts();
	const report = useGet(encoded`/automations/${of.id}/report`, undefined, { every: 30 });
	const [saved] = useState(() => savedTree(of));
	const tree = draft?.tree ?? saved;
	const [view, setView] = useState(draft?.text !== undefined ? 'json' : 'canvas');
	const text = draft?.text ?? flowText(tree);
	const wrong = draft?.text === undefined ? '' : faultWords(draft.text);
	const dirty = draft?.text !== undefined || flowText(tree) !== flowText(saved);
	const change = (/** @type {any} */ now) => {
		form.clear();
		keepDraft(of.id, flowText(now) === flowText(saved) ? null : { tree: now, text: undefined, version: draft?.version ?? of.version });
	};
	const type = (/** @type {string} */ typed) => {
		form.clear();
		keepDraft(of.id, faultWords(typed) ? { tree, text: typed, version: draft?.version ?? of.version } : { tree: treeOf(JSON.parse(typed)), text: typed, version: draft?.version ?? of.version });
	};
	const show = (/** @type {string} */ to) => {
		if (to === view || wrong) return;
		if (to === 'canvas' && draft) change(tree);
		setView(to);
	};
	const form = useForm(async () => {
		const now = await api.get(pathOf(of.id));
		if (now.version !== (draft?.version ?? of.version) && !(await takeOver())) return;
		const body = graphOf(tree);
		const running = report.data?.running ?? 0;
		let answer;
		if (running > 0) {
			answer = await askForm({
				title: t('automations.saveTitle', { n: running }), act: t('ui.save'), start: { move: false },
				fields: (v, set) => html`<p>${t('automations.saveText')}</p><${Check} label=${t('automations.moveRuns', { n: running })} checked=${v.move} onChange=${(move) => set({ move })} /><p class="muted t12">${t('automations.moveText')}</p>`,
				send: (v) => api.patch(pathOf(of.id), v.move ? { ...body, move_runs: true } : body),
			});
			if (!answer) return;
		} else answer = await api.patch(pathOf(of.id), body);
		keepDraft(of.id, null);
		await reload();
		await report.reload();
		toast(answer.moved ? t('automations.savedMoved', { n: answer.moved }) : t('automations.saved'));
		if (answer.not_moved?.length) await showNotMoved(of.id, answer.not_moved);
	});
	const failed = /^`steps\[(\d+)\]/.exec(form.error?.message ?? '');
	const bad = failed && graphOf(tree).steps[Number(failed[1])]?.key;
	const locked = of.status === 'enabled' && !mayAdmin.value;
	useEffect(() => {
		if (form.error) document.querySelector('.flow-error')?.scrollIntoView({ block: 'center' });
	}, [form.error]);
	return html`<div class="flow-page"><div class="flow-tools"><${Seg} label=${t('automations.view')} value=${view} onChange=${show} options=${[['canvas', t('automations.canvas')], ['json', 'JSON']]} /><span class="muted t12">${t('automations.version', { n: of.version })}</span></div>
	${locked && html`<${Notice} icon="lock">${t('automations.adminsChange')}<//>`}
	${form.error && html`<div class="flow-error"><${Notice} kind="bad">${form.error.message}<//></div>`}
	${view === 'json' ? html`<div class="flow-json"><${Input} label=${t('automations.jsonLabel')} lines="22" mono spellcheck="false" value=${text} readonly=${locked} onInput=${type} error=${wrong || about(form.error, 'steps')} hint=${t('automations.jsonHint')} /></div>`
		: html`<${Canvas} tree=${tree} onChange=${change} parts=${parts} report=${report.data} bad=${bad} locked=${locked} />`}
	${dirty && !locked && html`<div class="bulk" role="region" aria-label=${t('segments.unsaved')}><span class="muted hide-s">${t('segments.unsaved')}</span><${Button} kind="quiet" onClick=${() => {
		form.clear();
		keepDraft(of.id, null);
	}}>${t('segments.discard')}<//><${Button} kind="primary" disabled=${Boolean(wrong)} busy=${form.busy} onClick=${() => form.submit()}>${t('ui.save')}<//></div>`}</div>`;
}

/** What is wrong with a flow as JSON, in words; empty: nothing. @param {string} text */
function faultWords(text) {
	let value;
	try {
		value = JSON.parse(text);
	} catch (e) {
		return t('automations.json.syntax', { message: /** @type {Error} */ (e).message });
	}
	const fault = faultOf(value);
	if (!fault) return '';
	const words = t(`automations.json.${fault.problem}`);
	return fault.field ? `${fault.field}: ${words}` : words;
}

/** Asks whether to save over changes of another person. */
const takeOver = () => askForm({ title: t('automations.changedTitle'), act: t('automations.overwrite'), kind: 'danger-solid', start: {}, fields: () => html`<p>${t('automations.changedText')}</p>`, send: async () => true });

/** The runs that could not be moved to the new version. @param {string} id @param {any[]} runs */
const showNotMoved = (id, runs) => dialog((close) => html`<${DialogBody} title=${t('automations.notMoved', { n: runs.length })} onSubmit=${() => close()} acts=${html`<${Button} type="submit" kind="primary">${t('ui.close')}<//>`}>
	<p>${t('automations.notMovedText')}</p><ul class="items items--tight">${runs.map((run) => html`<li key=${run.run_id}><a class="grow cut mono" href=${base + encoded`/automations/${id}/runs?run=${run.run_id}`} onClick=${() => close()}>${run.run_id}</a><span class="mono muted">${run.step}</span></li>`)}</ul><//>`);
