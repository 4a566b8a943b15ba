// The review of a broadcast: recipients, content, time. Only this page sends.
import { html, useEffect, useMemo, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { Penalties, Tags } from './composer-checks.js';
import { clock, exact, number, size } from './format.js';
import { say, t } from './i18n.js';
import { encoded } from './paths.js';
import { usePost } from './plan.js';
import { base, go } from './router.js';
import { Bones, Button, Check, Facts, Failed, Head, Icon, Input, Notice, Section } from './ui/base.js';
import { Bars } from './ui/chart.js';
import { toast } from './ui/float.js';
import { Paper } from './ui/frame.js';

/** The page. @param {{params: {id: string}}} props */
export default function Review({ params }) {
	const { id } = params;
	const { data, error, reload } = useGet(encoded`/broadcasts/${id}`);
	const [later, setLater] = useState(false);
	const [at, setAt] = useState(soon);
	const when = later && at ? new Date(at).toISOString() : undefined;
	const plan = usePost(encoded`/broadcasts/${id}/plan`, when ? { scheduled_at: when } : undefined);
	const read = usePost(encoded`/broadcasts/${id}/preview`, undefined);
	const found = usePost(encoded`/broadcasts/${id}/inspect`, undefined);
	const head = html`<${Head} title=${t('review.title')} text=${data ? `${t('review.title')}: ${data.name}` : t('review.title')} path=${[[t('broadcasts.title'), `${base}/broadcasts`], [data?.name ?? '…', base + encoded`/broadcasts/${id}`]]}><${Button} href=${base + encoded`/broadcasts/${id}`}>${t('review.back')}<//><//>`;
	useEffect(() => {
		if (data && data.status !== 'draft') go(encoded`/broadcasts/${id}/report`, { replace: true });
	}, [data?.status]);
	if (error && !data) return html`${head}<${Failed} error=${error} retry=${reload} />`;
	if (!data) return html`${head}<${Bones} />`;
	return html`${head}
	${plan.error && html`<${Notice} kind="bad" act=${html`<${Button} icon="refresh" onClick=${plan.reload}>${t('ui.again')}<//>`}>${t('review.refused')}: ${plan.error.message}<//>`}
	<div class="page"><div class="cols"><div><${Who} of=${data} plan=${plan.data} /><${Checked} plan=${plan.data} read=${read} found=${found.data} /></div>
	<div><${When} plan=${plan.data} /><${Send} of=${data} plan=${plan.data} later=${later} setLater=${setLater} at=${at} setAt=${setAt} when=${when} /></div></div>
	<${Section} title=${t('review.preview')}><${Facts} pairs=${[[t('review.from'), html`<bdi>${data.from}</bdi>`], [t('review.subject'), html`<bdi>${read.data?.subject ?? data.subject}</bdi>`], [t('composer.preview_text'), read.data?.preview_text && html`<bdi>${read.data.preview_text}</bdi>`],
		[t('email.tabs.attachments'), data.attachments.length > 0 && html`<bdi>${data.attachments.map((file) => file.filename).join(', ')}</bdi>`], [t('email.size'), data.attachments.length > 0 && plan.data && size(plan.data.size)]]} /><div class="gap"><${Paper} of=${encoded`/broadcasts/${id}/preview`} stamp=${id} /></div><//></div>`;
}

/** An hour from now, as a field for local times has it. */
function soon() {
	const d = new Date(Date.now() + 3600_000);
	d.setMinutes(0, 0, 0);
	return new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function Who({ of, plan }) {
	const segment = useGet(of.segment_id ? encoded`/segments/${of.segment_id}` : null).data;
	const topic = useGet(of.topic_id ? encoded`/topics/${of.topic_id}` : null).data;
	if (!plan) return html`<${Section} title=${t('review.who')}><${Bones} rows=${4} /><//>`;
	const out = plan.left_out;
	const all = plan.recipients + out.unsubscribed + out.suppressed + out.topic;
	const by = Object.entries(out.suppressed_by);
	const line = (word, n) => n > 0 && html`<tr><td class="ink2">${word}</td><td class="num ink2">−${number(n)}</td></tr>`;
	return html`<${Section} title=${t('review.who')}><p class="t28">${t('review.people', { n: plan.recipients })}</p>
	<table class="table sum"><thead class="vh"><tr><th>${t('review.part')}</th><th>${t('broadcasts.people')}</th></tr></thead><tbody>
	<tr><td>${of.segment_id ? say('review.inSegment', { name: html`<a class="link" href=${base + encoded`/segments/${of.segment_id}`}><bdi>${segment?.name ?? '…'}</bdi></a>` }) : t('review.inAll')}</td><td class="num">${number(all)}</td></tr>
	${line(t('review.unsubscribed'), out.unsubscribed)}${line(t('review.topic', { name: topic?.name ?? '…' }), out.topic)}${by.map(([origin, n]) => line(t(`review.suppressedBy.${origin}`), n))}
	<tr class="is-total"><td>${t('review.willBe')}</td><td class="num">${number(plan.recipients)}</td></tr></tbody></table>
	${!plan.recipients && html`<${Notice} kind="warn">${t('review.nobody')}<//>`}<//>`;
}

/** The size at which mail programs cut, in bytes. */
const cutAt = 102_000;

/** Mistakes that recipients would see: unresolved placeholders, also in links. @param {{html: string|null, text: string, missing: string[]}} mail */
export function leftovers(mail) {
	const source = mail.html ?? mail.text;
	const links = [...source.matchAll(/<a\b[^>]*?\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/gi)].map((m) => (m[1] ?? m[2] ?? m[3]).replaceAll('&amp;', '&').trim());
	const own = [...new Set(links)].filter((link) => /^https?:/i.test(link));
	const found = [];
	for (const link of new Set(links)) {
		if (/\{\{|\}\}|%7B%7B|\*\||\[\[|%%\w+%%|<%|\$\{/i.test(link)) found.push(t('review.leftoverLink', { url: link }));
		else if (link === '' || link === '#' || /^https?:\/\/(localhost|example\.(com|org|net)|(www\.)?yourdomain|your-?site|TODO)\b/i.test(link)) found.push(t('review.dummyLink', { url: link || '""' }));
	}
	return { found, links: own };
}

/** What an inspection found, in lines; empty: nothing. @param {any} found the answer */
const inspected = (found) => [
	...found.missing.map(({ name, recipients }) => t('review.missingFor', { name: name.replace(/^contact\./, ''), n: recipients })),
	...(found.removed_links ? [t('review.removedLinks', { n: found.removed_links })] : []),
	...(found.render_limit ? [t('review.renderLimit', { n: found.render_limit })] : []),
];

function Checked({ plan, read, found }) {
	const seen = useMemo(() => read.data && leftovers(read.data), [read.data]);
	const fine = (words) => html`<li><${Icon} name="check" class="good" /><span class="grow break">${words}</span></li>`;
	const off = (words) => html`<li><${Icon} name="alert" class="warn" /><span class="grow break">${words}</span></li>`;
	const bytes = read.data ? new Blob([read.data.html ?? read.data.text]).size : 0;
	const tags = plan?.unfilled_tags ?? [];
	const lines = found && inspected(found);
	const more = seen && html`<${Tags} tags=${tags} />${seen.found.map(off)}${lines?.length ? html`${lines.map(off)}${!found.complete && html`<li><${Icon} name="info" /><span class="grow break">${t('review.inspected', { n: found.inspected })}</span></li>`}` : read.data.missing.length && !lines ? off(t('review.leftover', { n: read.data.missing.length, names: read.data.missing.join(', ') })) : !seen.found.length && !tags.length && fine(t('review.noLeftover'))}
	${seen.links.length ? fine(t('review.linksFine', { n: seen.links.length })) : off(t('review.noLinks'))}
	${/unsubscribe/i.test(read.data.html ?? read.data.text) ? fine(t('review.unsubscribe')) : off(t('review.noUnsubscribe'))}
	${bytes < cutAt ? fine(t('review.size', { size: size(bytes) })) : off(t('review.sizeOver', { size: size(bytes) }))}`;
	return html`<${Section} title=${t('review.checks')} acts=${plan && html`<span class="t13r"><span class="medium">${number(plan.score.score)}</span> <span class="muted">${t(`bands.${plan.score.band}`)}</span></span>`}>
	${read.error ? html`<${Failed} error=${read.error} retry=${read.reload} />` : plan || seen ? html`<${Penalties} score=${plan?.score ?? { penalties: [] }} more=${more} />` : html`<${Bones} rows=${4} />`}<//>`;
}

function When({ plan }) {
	if (!plan) return null;
	const { waves } = plan;
	const done = plan.finishes_at && html`<time datetime=${plan.finishes_at} title=${exact(plan.finishes_at)}>${clock(plan.finishes_at)}</time>`;
	return html`<${Section} title=${t('review.plan')} acts=${waves.length > 0 && html`<span class="t13r ink2">${done ? say('review.waves', { n: waves.length, time: done }) : t('review.wavesOpen', { n: waves.length })}</span>`}>
	${waves.length ? html`<${Bars} label=${t('review.wave')} show=${(v) => number(v)} bars=${waves.map((w) => ({ name: clock(w.at), axis: waves.length <= 6 ? clock(w.at) : undefined, value: w.count, word: waves.length <= 8 ? number(w.count) : undefined }))} />` : html`<p class="muted">${t('review.noPlan')}</p>`}
	${plan.warning && html`<p class="t13r ink2 prose">${plan.warning.message}</p>`}<//>`;
}

/** When a send begins: until then it can be undone. */
const undoTime = 'in 5 seconds';

function Send({ of, plan, later, setLater, at, setAt, when }) {
	const [once] = useState(() => crypto.randomUUID());
	const [wrong, setWrong] = useState('');
	const send = async () => {
		try {
			await api.post(encoded`/broadcasts/${of.id}/send`, { scheduled_at: when ?? undoTime }, { headers: { 'Idempotency-Key': once + (when ?? '') } });
			if (when) toast(t('review.scheduled'));
			go(encoded`/broadcasts/${of.id}/report`, { replace: true });
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	const n = plan?.recipients ?? 0;
	const refused = plan?.unfilled_tags.some((tag) => tag.refused);
	return html`<${Section} title=${t('review.send')}><form class="stack" onSubmit=${(e) => e.preventDefault()}><fieldset class="row row--wrap row--wide"><legend class="vh">${t('review.when')}</legend>
		<${Check} kind="radio" name="when" checked=${!later} onChange=${() => setLater(false)} label=${t('review.now')} /><${Check} kind="radio" name="when" checked=${later} onChange=${() => setLater(true)} label=${t('review.later')} /></fieldset>
		${later && html`<${Input} type="datetime-local" label=${t('review.at')} hint=${t('review.atHint', { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })} value=${at} onInput=${setAt} />`}
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<div class="row row--wrap"><${Button} kind="primary big" icon="send" disabled=${!n || refused} onClick=${send}>${t(later ? 'review.scheduleTo' : 'review.sendTo', { n })}<//><span class="t12 muted">${t('review.stop')}</span></div></form><//>`;
}
