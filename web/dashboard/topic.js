// One topic: its archive, the feeds of it, and the issues in it.
import { html } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { mayAdmin } from './state.js';
import { Bones, Button, Check, Copy, Empty, Facts, Failed, Head, Notice, Section, Time } from './ui/base.js';
import { attempt, confirm } from './ui/float.js';
import { Foot } from './ui/list.js';

/** The page. @param {{params: {id: string}}} props */
export default function Topic({ params }) {
	const path = encoded`/topics/${params.id}`;
	const { data: of, error, reload, set } = useGet(path);
	const trail = [[t('topics.title'), href('/topics')]];
	if (error && !of) return html`<${Head} title=${t('contacts.topic')} path=${trail} /><${Failed} error=${error} retry=${reload} />`;
	if (!of) return html`<${Head} title="" text=${t('contacts.topic')} path=${trail} /><${Bones} />`;
	return html`<${Head} title=${html`<bdi>${of.name}</bdi>`} text=${of.name} path=${trail}>${of.archive_url && html`<${Button} icon="external" href=${of.archive_url} target="_blank" rel="noreferrer">${t('archive.open')}<//>`}<//>
	<div class="page"><${Kind} of=${of} path=${path} set=${set} />${of.archive && html`<${Links} of=${of} /><${Issues} of=${of} path=${path} />`}</div>`;
}

/** None, public or unlisted. */
function Kind({ of, path, set }) {
	const now = of.archive ?? 'none';
	const pick = async (to) => {
		if (to === 'none' && !(await confirm({ title: t('archive.endTitle'), text: t('archive.endText'), act: t('archive.end') }))) return;
		await attempt(async () => set({ ...of, ...(await api.patch(path, { archive: to === 'none' ? null : to })) }), t('archive.saved'));
	};
	const hidden = of.visibility !== 'public';
	return html`<${Section} title=${t('archive.title')}><p class="ink2 t13r prose">${t('archive.text')}</p>
	<div class="fields fields--under" role="radiogroup" aria-label=${t('archive.title')}>${['none', 'public', 'unlisted'].map((kind) => html`<div key=${kind}><${Check} kind="radio" name="archive" label=${t(`archive.as_${kind}`)} checked=${now === kind} disabled=${!mayAdmin.value || (hidden && kind !== 'none')} onChange=${() => pick(kind)} /><p class="muted t12">${t(`archive.as_${kind}Text`)}</p></div>`)}
		${hidden ? html`<${Notice}>${t('archive.hidden')}<//>` : !mayAdmin.value && html`<p class="t12 muted">${t('domain.askAdmin')}</p>`}</div><//>`;
}

function Links({ of }) {
	if (!of.archive_url) return html`<${Section} title=${t('archive.links')}><${Notice} kind="warn" act=${mayAdmin.value && html`<${Button} href=${href('/team?part=settings')}>${t('pagesHost.set')}<//>`}>${t('archive.noHost')}<//><//>`;
	const below = (name) => `${of.archive_url.replace(/\/$/, '')}/${name}`;
	return html`<${Section} title=${t('archive.links')}><${Facts} pairs=${[[t('archive.page'), of.archive_url], ['RSS', below('feed.xml')], ['JSON Feed', below('feed.json')]].map(([name, url]) => [name, html`<${Copy} text=${url} shown />`])} /><//>`;
}

/** The issues in the archive, and broadcasts that can be added. */
function Issues({ of, path }) {
	const inside = useList(`${path}/archive`, {}, { limit: 50 });
	const sent = useList('/broadcasts', {}, { limit: 100 });
	const known = new Set(inside.rows.map((row) => row.broadcast_id));
	const others = sent.rows.filter((row) => row.topic_id === of.id && row.status === 'sent' && !known.has(row.id));
	const change = async (act, said) => {
		if ((await attempt(act, said)) !== undefined) await inside.reload();
	};
	const add = (row) => change(() => api.post(`${path}/archive`, { broadcast_id: row.id }), t('archive.added'));
	const drop = (row) => change(() => api.del(path + encoded`/archive/${row.id}`), t('archive.dropped'));
	const line = (row, at, act) => html`<li key=${row.id}><span class="grow cut" title=${row.subject}>${row.url ? html`<a class="link" href=${row.url} target="_blank" rel="noreferrer"><bdi>${row.subject}</bdi></a>` : html`<bdi>${row.subject || row.name}</bdi>`}</span><span class="muted t12"><${Time} at=${at} as="clock" /></span>${mayAdmin.value && act}</li>`;
	return html`<${Section} title=${t('archive.issues')}>${inside.loading ? html`<${Bones} rows=${3} />` : inside.rows.length ? html`<ul class="items">${inside.rows.map((row) => line(row, row.sent_at, html`<${Button} kind="quiet" icon="x" label=${t('archive.drop', { subject: row.subject })} onClick=${() => drop(row)} />`))}</ul><${Foot} list=${inside} />` : html`<${Empty} icon="list" title=${t('archive.none')}>${t('archive.noneText')}<//>`}<//>
	${others.length > 0 && html`<${Section} title=${t('archive.past')}><p class="muted t13r prose">${t('archive.pastText')}</p><ul class="items">${others.map((row) => line(row, row.sent_at ?? row.created_at, html`<${Button} icon="plus" onClick=${() => add(row)}>${t('archive.add')}<//>`))}</ul><${Foot} list=${sent} /><//>`}`;
}
