// The canvas of an automation: boxes from top to bottom, with a button between them that adds a step.
import { html, useEffect, useRef } from './lib/core.js';
import { bare, configure, end, graphOf, insert, mostSteps, move, newKey, outcomes, remove, types, whole, within } from './automation-flow.js';
import { icons, stepWords, typeName } from './automation-words.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { Button, Icon } from './ui/base.js';
import { Menu, toast } from './ui/float.js';

/** Opens the form of a step, whose module is loaded when it is needed. @param {[step: any, parts: any, steps: any[], isNew?: boolean]} of */
const editStep = async (...of) => (await import('./automation-step.js')).editStep(...of);

/** The id of the box of a step. @param {string} key */
const boxId = (key) => `step-${key}`;

/**
 * @param {{tree: any, onChange: (tree: any) => void, parts: any, report: any, bad: string|null, locked: boolean}} props
 * report is that of the saved version; bad is the key of a step that the server refused; locked: nothing can be changed.
 */
export function Canvas({ tree, onChange, parts, report, bad, locked }) {
	const focus = useRef('');
	useEffect(() => {
		if (!focus.current) return;
		// After the dialog, which gives the focus back to what had it before.
		const id = focus.current;
		focus.current = '';
		requestAnimationFrame(() => {
			const wanted = /** @type {any} */ (document.getElementById(id));
			(wanted?.disabled ? document.getElementById(boxId(id.replace(/^(?:up|down)-/, ''))) : wanted)?.focus();
		});
	});
	const { steps } = graphOf(tree);
	const numbers = new Map(steps.map((step, i) => [step.key, i + 1]));
	const counts = new Map((report?.steps ?? []).map((one) => [one.key, one]));
	const change = (now, key, id = boxId(key)) => {
		focus.current = id;
		onChange(now);
	};
	const x = {
		tree, parts, numbers, counts, bad, locked, full: steps.length >= mostSteps,
		add: async (at, type) => {
			const step = { key: newKey(tree, type), type, config: {} };
			const config = bare.includes(type) ? {} : await editStep(step, parts, steps, true);
			if (config) change(insert(tree, at, { ...step, config }), step.key);
		},
		edit: async (step) => {
			const config = await editStep(step, parts, steps);
			if (config) change(configure(tree, step.key, config), step.key);
		},
		move: (key, by) => change(move(tree, key, by), key, `${by < 0 ? 'up' : 'down'}-${key}`),
		end: (at, ends) => change(end(tree, at, ends), at.of),
		remove: (item) => {
			const { key } = item.step;
			const before = steps[numbers.get(key) - 2]?.key ?? steps[0].key;
			change(remove(tree, key), before);
			toast(t('automations.removed', { n: within(item).length, type: typeName(item.step.type) }), { undo: () => change(tree, key) });
		},
	};
	return html`<div class="flow" role="group" aria-label=${t('automations.canvas')}><${Sequence} seq=${tree.main} at=${{ of: null, branch: 0 }} x=${x} last />
		${tree.loose.length > 0 && html`<h2 class="t14 medium">${t('automations.looseTitle')}</h2><ul class="flow-steps">${tree.loose.map((step) => html`<li key=${step.key}><${Box} item=${{ step }} x=${x} fixed /></li>`)}</ul>`}</div>`;
}

/** Steps one below the other. last: nothing follows. */
function Sequence({ seq, at, x, last }) {
	return html`<ol class="flow-steps">${seq.items.map((item, i) => html`<li key=${item.jump ?? item.step.key}>${item.jump ? html`<p class="flow-jump"><${Icon} name="right" />${t('automations.jump', { n: x.numbers.get(item.jump) })}</p>` : html`<${Box} item=${item} x=${x} /><${Branches} item=${item} x=${x} last=${last && i === seq.items.length - 1} />`}
		${!item.jump && item.step.type !== 'contact_delete' && html`<${Add} at=${{ ...at, i: i + 1 }} x=${x} after=${item.step} follows=${i < seq.items.length - 1} />`}</li>`)}</ol>`;
}

/** The two branches of a step. */
function Branches({ item, x, last }) {
	if (!item.branches) return null;
	const { key, type } = item.step;
	return html`<div class="flow-branches" role="group" aria-label=${t('automations.branchesOf', { n: x.numbers.get(key) })}>${item.branches.map((seq, branch) => {
		const name = branchName(item.step, outcomes[type][branch]);
		const at = { of: key, branch };
		const tail = seq.items[seq.items.length - 1];
		const over = tail?.jump || tail?.step.type === 'contact_delete';
		return html`<section class="flow-branch" key=${branch} aria-label=${name}><h3>${name}</h3>
			<${Add} at=${{ ...at, i: 0 }} x=${x} branch=${name} follows=${seq.items.length > 0} />
			<${Sequence} seq=${seq} at=${at} x=${x} last=${last} />
			${!last && !over && html`<p class="flow-end"><span class="muted">${t(seq.ends ? 'automations.endsHere' : 'automations.goesOn')}</span>${!x.locked && html`<${Button} kind="quiet" disabled=${!end(x.tree, at, !seq.ends)} onClick=${() => x.end(at, !seq.ends)}>${t(seq.ends ? 'automations.goOn' : 'automations.endHere')}<//>`}</p>`}</section>`;
	})}</div>`;
}

/** The name of a branch. @param {any} step @param {string} outcome */
export function branchName(step, outcome) {
	if (step.type === 'split') return t('automations.share', { n: outcome === 'condition_met' ? step.config.percent : 100 - step.config.percent });
	return t(`automations.outcomes.${outcome}`);
}

/** The button that adds a step. */
function Add({ at, x, after, branch, follows }) {
	if (x.locked) return html`<div class="flow-add"></div>`;
	const offered = types.filter((type) => type !== 'contact_delete' || (!follows && whole(insert(x.tree, at, { key: ' ', type, config: {} }))));
	const label = after ? t('automations.addAfter', { n: x.numbers.get(after.key) }) : t('automations.addTo', { branch });
	return html`<div class="flow-add"><${Menu} icon="plus" kind="quiet" label=${label} class="btn btn--icon flow-plus" items=${offered.map((type) => ({ icon: icons[type], name: typeName(type), disabled: x.full, run: () => x.add(at, type) }))}><${Icon} name="plus" /><span class="vh">${label}</span><//></div>`;
}

/** A step. fixed: it can't be moved. */
function Box({ item, x, fixed = false }) {
	const { step } = item;
	const { key, type } = step;
	const n = x.numbers.get(key);
	const words = stepWords(step, x.parts);
	const started = type === 'trigger';
	const can = (by) => !fixed && !started && move(x.tree, key, by) !== null;
	const counts = x.counts.get(key);
	const editable = !x.locked && !bare.includes(type);
	const title = html`<${Icon} name=${icons[type]} /><span class="flow-title"><span class="medium">${n}. ${typeName(type)}</span>${words && html`<span class="flow-words"><bdi>${words}</bdi></span>`}</span>`;
	return html`<div class=${`flow-box ${x.bad === key ? 'is-bad' : ''}`} role="group" aria-label=${t('automations.stepLabel', { n, type: typeName(type) })}>
		<div class="flow-head">${editable ? html`<button type="button" class="flow-open" id=${boxId(key)} aria-invalid=${x.bad === key ? 'true' : undefined} onClick=${() => x.edit(step)}>${title}</button>` : html`<div class="flow-open" id=${boxId(key)} tabindex="-1">${title}</div>`}
		${!x.locked && !started && html`<span class="flow-acts">${!fixed && html`<${Button} icon="up" kind="quiet" id=${`up-${key}`} label=${t('automations.moveUp', { n })} disabled=${!can(-1)} onClick=${() => x.move(key, -1)} /><${Button} icon="down" kind="quiet" id=${`down-${key}`} label=${t('automations.moveDown', { n })} disabled=${!can(1)} onClick=${() => x.move(key, 1)} />`}<${Button} icon="trash" kind="quiet" label=${t('automations.removeStep', { n })} onClick=${() => x.remove(item)} /></span>`}</div>
		${counts && !started && html`<dl class="flow-counts">${['waiting', 'completed', 'failed', 'skipped', 'cancelled'].filter((name) => name !== 'skipped' || counts.skipped).map((name) => html`<div key=${name}><dt>${t(`automations.counts.${name}`)}</dt><dd class=${name === 'failed' && counts.failed ? 'bad' : ''}>${number(counts[name] ?? 0)}</dd></div>`)}</dl>`}</div>`;
}
