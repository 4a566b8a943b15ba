// A region with several relays as a card: which one sends, why, and acts.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { clock, number } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { Acts } from './relays-acts.js';
import { addDialog } from './relays-add.js';
import { doing, nameOf } from './relays-lights.js';
import { base } from './router.js';
import { Button, Check, Input, Notice, Section, Select, Status, Verdict } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody } from './ui/float.js';

/** The name of a relay without its region, which stands beside it. @param {string} name */
const short = (name) => name.slice(name.indexOf('/') + 1);

/** @typedef {{of: any, rows: any[], reload: () => Promise<void>}} Region */

/** What happens in the region in a sentence, with the reason. @param {any} f its first relay, with what is known of the region @param {any[]} all its relays */
function headline(f, all) {
	const active = all.find((r) => nameOf(r) === f.active);
	const words = { region: f.region, relay: short(f.active), at: f.switched_at ? clock(f.switched_at) : '' };
	const usable = (r) => r.state === 'open';
	if (all.every((r) => r.state === 'paused')) return { kind: 'warn', icon: 'st-resting', line: t('relays.regions.paused', words) };
	if (!f.available && !all.some(usable)) return { kind: 'bad', icon: 'alert', line: t('relays.regions.down', words), fix: active?.reason };
	if (active && !usable(active)) return { kind: f.available ? 'bad' : 'warn', icon: 'alert', line: t('relays.regions.unusable', words), fix: active.reason };
	if (f.active !== f.primary) return { kind: 'warn', icon: 'st-open', line: t('relays.regions.reserveSends', words), fix: f.switch_reason };
	return { kind: 'good', icon: 'st-open', line: t('relays.regions.primarySends', words), fix: f.by_operator || f.policy.mode !== 'auto' ? undefined : t('relays.regions.autoLine', { after: f.policy.after, back: f.policy.back_after }) };
}

/** The card. @param {Region} props */
export function RegionCard({ of: f, rows, reload }) {
	const names = [f.primary, ...f.reserves];
	const all = names.map((name) => rows.find((r) => nameOf(r) === name)).filter(Boolean);
	const change = (act, done) => attempt(async () => {
		await act();
		await reload();
	}, done);
	const auto = () => change(() => api.post(encoded`/relays/${f.region}/switch`, { auto: true }, { team: null }), t('relays.regions.autoDone', { region: f.region }));
	const use = async (name) => {
		const words = { region: f.region, relay: short(name) };
		if (await confirm({ title: t('relays.regions.use', words), text: t('relays.regions.useText', words), act: t('relays.regions.use', words) })) {
			await change(() => api.post(encoded`/relays/${f.region}/switch`, { relay: name }, { team: null }), t('relays.regions.used', words));
		}
	};
	const raise = (name) => {
		const order = names.filter((other) => other !== name);
		order.splice(names.indexOf(name) - 1, 0, name);
		return change(() => api.put(encoded`/relays/${f.region}/order`, { relays: order }, { team: null }), t('relays.regions.ordered', { region: f.region }));
	};
	const add = async () => {
		await addDialog(f.region);
		await reload();
	};
	const paused = all.every((r) => r.state === 'paused');
	const pause = () => change(() => api.post(encoded`/relays/${f.region}/${paused ? 'resume' : 'pause'}`, undefined, { team: null }), t(paused ? 'relays.resumed' : 'relays.paused', { name: f.region }));
	const parts = [
		f.switched_at && f.active !== f.primary && t('relays.regions.moved', { n: f.moved, at: clock(f.switched_at) }),
		f.kept > 0 && html`<a class="link" href=${`${base}/queue?team=all&tab=doubts`}>${t('relays.regions.kept', { n: f.kept })}</a>`,
		f.waiting > 0 ? html`<a class="link" href=${base + encoded`/queue?team=all&tab=emails&relay=${f.region}`}>${t('relays.wait', { n: number(f.waiting) })}</a>` : t('relays.noneWaits'),
	].filter(Boolean);
	const policy = async () => {
		if (await dialog((close) => html`<${Policy} of=${f} close=${close} />`)) await reload();
	};
	return html`<div class="page"><${Section} title=${f.region} acts=${html`<div class="row row--wrap"><${Button} icon="plus" onClick=${add}>${t('relays.regions.add')}<//><${Button} onClick=${policy}>${t('relays.regions.policy')}<//><${Button} icon=${paused ? 'play' : 'pause'} onClick=${pause}>${t(paused ? 'relays.regions.resumeAll' : 'relays.regions.pauseAll')}<//></div>`}>
	<${Verdict} ...${headline(f, all)} />
	${f.available && html`<${Notice} kind="warn" act=${html`<${Button} kind="primary" onClick=${() => use(f.available)}>${t('relays.regions.use', { relay: short(f.available) })}<//>`}>${t('relays.regions.available', { relay: short(f.available) })} <code class="mono">mailer relays switch ${f.region} ${short(f.available)}</code><//>`}
	${f.held_until && html`<${Notice} kind="warn">${t('relays.regions.held', { relay: short(f.active), at: clock(f.held_until) })}<//>`}
	${f.by_operator && html`<${Notice} act=${html`<${Button} onClick=${auto}>${t('relays.regions.auto')}<//>`}>${t('relays.regions.chosen', { relay: short(f.active) })}<//>`}
	<table class="table table--fixed" aria-label=${f.region}><thead><tr><th class="w-status hide-s">${t('relays.state')}</th><th class="cell-name">${t('relays.name')}</th><th class="hide-s">${t('relays.words')}</th><th class="num w-num drop-2">${t('relays.regions.hour')}</th><th class="num w-num drop-2">${t('relays.regions.day')}</th><th class="num cell-check"><span class="vh">${t('ui.acts')}</span></th></tr></thead><tbody>${all.map((r, i) => html`<tr key=${nameOf(r)}><td class="hide-s"><${Status} of=${r.state} /></td><td class="cell-name cell-cut"><a class="medium" href=${base + encoded`/operator/relays?relay=${nameOf(r)}`}>${short(nameOf(r))}</a> <span class="muted">${role(f, r, i)}</span><span class="cell-sub"><${Status} of=${r.state} /> ${doing(r)}</span></td><td class="cell-cut muted hide-s" title=${doing(r)}>${doing(r)}</td><td class="num drop-2">${number(r.sent_hour)}</td><td class="num drop-2">${number(r.sent_day)}</td><td class="num"><${Acts} of=${r} reload=${reload} more=${[
		nameOf(r) !== f.active && { icon: 'send', name: t('relays.regions.use', { relay: short(nameOf(r)) }), run: () => use(nameOf(r)) },
		i > 0 && { icon: 'updown', name: t(i === 1 ? 'relays.regions.first' : 'relays.regions.raise'), run: () => raise(nameOf(r)) },
		nameOf(r) !== f.active || i > 0 ? null : false,
	]} /></td></tr>`)}</tbody></table>
	<p class="t13r muted">${parts.map((part, i) => html`${i > 0 && '; '}${part}`)}</p><//></div>`;
}

/** What a relay is in its region. @param {any} f @param {any} r @param {number} i */
function role(f, r, i) {
	const rank = i === 0 ? t('relays.regions.primary') : t('relays.regions.reserve');
	return nameOf(r) === f.active ? html`${rank}, <strong>${t('relays.regions.active')}</strong>` : rank;
}

function Policy({ of: f, close }) {
	const [p, setP] = useState({ ...f.policy });
	const [wrong, setWrong] = useState('');
	const set = (some) => setP((before) => ({ ...before, ...some }));
	const save = async () => {
		try {
			close(await api.patch(encoded`/relays/${f.region}/failover`, p, { team: null }));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('relays.regions.policyOf', { region: f.region })} onSubmit=${save} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('ui.save')}<//>`}>
	${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
	<${Select} label=${t('relays.regions.mode')} value=${p.mode} onChange=${(mode) => set({ mode })} options=${['auto', 'manual', 'off'].map((id) => [id, t(`relays.regions.modes.${id}`)])} />
	<div class="row row--top"><${Input} label=${t('relays.regions.after')} value=${p.after} onInput=${(after) => set({ after })} /><${Input} label=${t('relays.regions.backAfter')} value=${p.back_after} onInput=${(back_after) => set({ back_after })} /></div>
	<${Check} label=${t('relays.regions.broadcasts')} checked=${p.broadcasts} onChange=${(broadcasts) => set({ broadcasts })} />
	<${Check} label=${t('relays.regions.aligned')} checked=${p.aligned_only} onChange=${(aligned_only) => set({ aligned_only })} />
	<${Check} label=${t('relays.regions.doubts')} checked=${p.doubts === 'send'} onChange=${(send) => set({ doubts: send ? 'send' : 'keep' })} /><//>`;
}
