// Relays: how each is, its test step by step, and acts. Operators alone.
import { html, useEffect, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { clock, exact, number, relative } from './format.js';
import { say, t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go, place } from './router.js';
import { Acts, change, pause, resume } from './relays-acts.js';
import { addDialog, Steps } from './relays-add.js';
import { doing, nameOf, only } from './relays-lights.js';
import { RegionCard } from './relays-regions.js';
import { RelaySections } from './reports.js';
import { Bones, Button, Code, Empty, Facts, Failed, Head, Input, Notice, Section, Status, Verdict } from './ui/base.js';
import { attempt, useAsked } from './ui/float.js';

/** The page: all relays, or the one of the address. */
export default function Relays() {
	const got = useGet('/relays', {}, { team: null, live: (e) => e.name === 'relay', every: 5 });
	const named = place.value.query.get('relay');
	const add = async () => {
		const region = await addDialog();
		await got.reload();
		if (typeof region === 'string') go(encoded`/operator/relays?relay=${region}`);
	};
	useAsked(add);
	const head = html`<${Head} title=${t('relays.title')}><${Button} icon="plus" kind="primary" onClick=${add}>${t('relays.add')}<//><//><${RelaySections} at="/operator/relays" />`;
	if (got.error && !got.data) return html`${head}<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return html`${head}<${Bones} rows=${3} />`;
	const rows = got.data.data;
	const one = rows.find((r) => nameOf(r) === named);
	if (one) return html`<${Relay} key=${nameOf(one)} of=${one} reload=${got.reload} />`;
	if (named) return html`${head}<${Empty} icon="relay" title=${t('relays.gone', { name: named })} act=${html`<${Button} href=${`${base}/operator/relays`}>${t('relays.all')}<//>`} />`;
	if (!rows.length) return html`${head}<${Empty} ghost=${[[html`<${Status} of="open" />`, html`us-east-1 <span class="muted mono t12">smtp.example.net</span>`, '0']]} icon="relay" title=${t('relays.noneTitle')} act=${html`<${Button} icon="plus" onClick=${add}>${t('relays.add')}<//>`}>${t('relays.noneText')}<//>`;
	const cards = rows.filter((r) => r.active);
	const single = rows.filter((r) => !cards.some((c) => c.region === r.region));
	return html`${head}${cards.map((r) => html`<${RegionCard} key=${r.region} of=${r} rows=${rows} reload=${got.reload} />`)}${single.length > 0 && html`<${List} rows=${single} reload=${got.reload} />`}`;
}

/** Relays that are alone in their regions. */
function List({ rows, reload }) {
	return html`<table class="table table--rows table--fixed" aria-label=${t('relays.title')}><thead><tr><th class="w-status hide-s">${t('relays.state')}</th><th class="cell-name">${t('relays.name')}</th><th class="hide-s">${t('relays.words')}</th><th class="num w-num drop-2">${t('relays.todayHead')}</th><th class="num w-num">${t('relays.waits')}</th><th class="num cell-check"><span class="vh">${t('ui.acts')}</span></th></tr></thead><tbody>${rows.map((r) => html`<tr key=${nameOf(r)}><td class="hide-s"><${Status} of=${r.state} /></td><td class="cell-name cell-cut"><a class="medium" href=${base + encoded`/operator/relays?relay=${nameOf(r)}`}>${nameOf(r)}</a> <span class="mono muted" title=${r.host}>${r.host}</span><span class="cell-sub"><${Status} of=${r.state} /> ${doing(r)}</span></td><td class="cell-cut muted hide-s" title=${doing(r)}>${doing(r)}</td><td class="num drop-2">${r.daily ? `${number(r.daily_used)} / ${number(r.daily)}` : '–'}</td><td class="num">${r.waiting ? html`<a href=${base + encoded`/queue?team=all&tab=emails&relay=${r.region}`}>${number(r.waiting)}</a>` : '0'}</td><td class="num"><${Acts} of=${r} reload=${reload} /></td></tr>`)}</tbody></table>`;
}

/** The headline of a relay. */
function said(r) {
	const words = { relay: nameOf(r), host: r.host, user: r.user ?? '', n: r.waiting, reason: r.reason ?? '' };
	if (r.state === 'failing') {
		const signIn = /^auth|535|sign/.test(r.reason ?? '');
		return { kind: 'bad', icon: 'alert', line: t(signIn && r.user ? 'relays.said.signIn' : 'relays.said.failing', words), fix: t(signIn ? 'relays.said.signInFix' : 'relays.said.failingFix', words) };
	}
	if (r.state === 'paused') return { kind: 'warn', icon: 'st-resting', line: t('relays.said.paused', words), fix: t('relays.said.pausedFix', words) };
	if (r.state === 'resting') return { kind: 'warn', icon: 'st-resting', line: t('relays.said.resting', words), fix: r.reason };
	return { kind: 'good', icon: 'st-open', line: t('relays.said.open', words), fix: undefined };
}

function Relay({ of: r, reload }) {
	const [test, setTest] = useState(/** @type {any} */ (null));
	const [to, setTo] = useState('');
	const run = () => attempt(async () => {
		setTest({ running: true });
		try {
			setTest(await api.post(encoded`/relays/${r.region}/test`, to.trim() ? { send_to: to.trim() } : undefined, { team: null, query: only(r) }));
		} catch (e) {
			setTest(null);
			throw e;
		}
	});
	useEffect(() => {
		if (r.state === 'failing') run();
	}, []);
	const head = said(r);
	const own = r.from === 'database';
	const shell = own ? `# the file has the URL with the new password; only you can read it\nmailer relays add ${nameOf(r)}${nameOf(r) === r.region ? '' : ' --reserve'} --url-file /etc/mailer/${r.region}.url\nmailer relays test ${nameOf(r)} --to you@example.org` : `# set when the server starts: change --relay or MAILER_RELAY, then restart\nmailer relays test ${nameOf(r)} --to you@example.org`;
	return html`<${Head} title=${nameOf(r)} path=${[[t('relays.title'), `${base}/operator/relays`]]}>${r.state === 'paused' ? html`<${Button} icon="play" onClick=${() => resume(r, reload)}>${t('relays.resume')}<//>` : html`<${Button} icon="pause" onClick=${() => pause(r, reload)}>${t('relays.pause')}<//>`}${own && html`<${Button} icon="lock" class="hide-s" onClick=${() => change(r, reload)}>${t('relays.change')}<//>`}<${Acts} of=${r} reload=${reload} /><//>
	<${Verdict} ...${head} />
	<div class="page">${r.note && html`<${Notice} kind="warn">${r.note}<//>`}<div class="cols"><${Section} title=${t('relays.lastTest')} acts=${html`<${Button} icon="refresh" onClick=${run}>${test ? t('relays.testAgain') : t('relays.test')}<//>`}>
		<div class="stack"><form class="wide" onSubmit=${(e) => {
			e.preventDefault();
			run();
		}}><${Input} label=${t('relays.sendTo')} hint=${t('relays.sendToHint')} value=${to} onInput=${setTo} autocomplete="off" /></form><div class="wide">${test ? html`<${Steps} test=${test} />` : html`<p class="muted">${t('relays.untested')}</p>`}</div></div><//>
	<${Section} title=${t('relays.facts')}><${Facts} pairs=${[
		[t('relays.state'), html`<${Status} of=${r.state} />${r.since ? html` ${say('relays.since', { at: html`<time datetime=${r.since} title=${exact(r.since)}>${clock(r.since)}</time>` })}` : ''}`],
		[t('relays.nextProbeName'), r.next_try && relative(r.next_try)],
		[t('relays.host'), html`<span class="mono">${r.host}</span>`],
		[t('relays.user'), r.user && html`<span class="mono">${r.user}</span>`],
		[t('relays.from'), t(`relays.froms.${r.from}`)],
		[t('relays.rateName'), r.rate ? t('relays.rate', { n: r.rate }) : t('relays.noLimit')],
		[t('relays.todayName'), r.daily ? t('relays.today', { used: r.daily_used, of: r.daily }) : t('relays.noDaily')],
		[t('relays.connections'), number(r.connections)],
		[t('relays.regions.hour'), r.sent_hour === undefined ? undefined : number(r.sent_hour)],
		[t('relays.regions.day'), r.sent_day === undefined ? undefined : number(r.sent_day)],
		[t('relays.waits'), r.waiting ? html`<a class="link" href=${base + encoded`/queue?team=all&tab=emails&relay=${r.region}`}>${t('relays.emails', { n: r.waiting })}</a>` : t('relays.noneWaits')],
	]} /><//></div><${Section} title=${t('relays.shell')}><${Code} name="shell" code=${shell} /><//></div>`;
}
