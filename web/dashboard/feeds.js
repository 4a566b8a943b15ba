// Feeds: RSS, Atom and JSON feeds of which broadcasts are made.
import { html } from './lib/core.js';
import { api, useList } from './api.js';
import { BroadcastSections } from './broadcast-sections.js';
import { editFeed, scheduleWords } from './feed-form.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { Button, Empty, Head, Notice, Status, Time } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, Menu } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

/** The host of a feed, which names it in lists. @param {string} url */
const hostOf = (url) => (URL.canParse(url) ? new URL(url).host + new URL(url).pathname.replace(/\/$/, '') : url);

/** The state of a feed: an error counts more than that it is active. */
const FeedState = ({ of }) => html`<${Status} of=${of.state === 'active' ? (of.last_error ? 'failing' : 'open') : of.state} word=${t(`feeds.is_${of.state === 'active' && of.last_error ? 'failing' : of.state}`)} />`;

/** What the next issue would have. @param {any} of */
const showCheck = (of) => dialog((close) => html`<${DialogBody} title=${t('feeds.checkedTitle')} onSubmit=${() => close()} acts=${html`<${Button} type="submit" kind="primary">${t('ui.close')}<//>`}>
	${of.error && html`<${Notice} kind="bad">${of.error}<//>`}${of.subject && html`<p>${t('feeds.nextSubject', { subject: of.subject })}</p>`}
	${of.items.length ? html`<ul class="items items--tight">${of.items.map((/** @type {any} */ item, /** @type {number} */ i) => html`<li key=${i}><span class="grow cut" title=${item.title}><bdi>${item.title || item.url}</bdi></span><span class="muted t12"><${Time} at=${item.date} as="clock" /></span></li>`)}</ul>` : html`<p class="muted">${t('feeds.nothingNew')}</p>`}<//>`);

/** The page. */
export default function Feeds() {
	const list = useList('/feeds');
	const topics = new Map(useList('/topics', {}, { limit: 100 }).rows.map((row) => [row.id, row.name]));
	const edit = async (of) => {
		if (await editFeed(of)) list.reload();
	};
	const check = async (row) => {
		const found = await attempt(() => api.post(encoded`/feeds/${row.id}/check`));
		list.reload();
		if (found) await showCheck(found);
	};
	const turn = async (row, state) => {
		await attempt(() => api.patch(encoded`/feeds/${row.id}`, { state }), t(state === 'active' ? 'feeds.resumed' : 'feeds.paused'));
		list.reload();
	};
	const remove = async (row) => {
		if (!(await confirm({ title: t('feeds.deleteTitle', { name: hostOf(row.url) }), text: t('feeds.deleteText'), act: t('feeds.delete') }))) return;
		await attempt(() => api.del(encoded`/feeds/${row.id}`), t('feeds.deleted'));
		list.reload();
	};
	const add = html`<${Button} kind="primary" icon="plus" onClick=${() => edit(null)}>${t('feeds.add')}<//>`;
	return html`<${Head} title=${t('feeds.title')}><${Csv} path="/feeds" name="feeds" />${list.rows.length > 0 && add}<//><${BroadcastSections} at="feeds" />
	<${Table} list=${list} label=${t('feeds.title')} top empty=${html`<${Empty} ghost=${[['blog.example.com/feed.xml', scheduleWords('weekly friday 09:00'), '–'], ['example.com/news.rss', scheduleWords('daily 07:30'), '–']]} icon="feed" title=${t('feeds.none')} act=${add}>${t('feeds.noneText')}<//>`} columns=${[
		{ name: t('feeds.url'), class: 'cell-name cell-cut', cell: (row) => html`<button type="button" class="link-plain medium" title=${row.url} onClick=${() => edit(row)}><bdi>${hostOf(row.url)}</bdi></button><span class="cell-sub"><${FeedState} of=${row} /> ${scheduleWords(row.schedule)}</span>${row.last_error && html`<p class="t12 bad break">${row.last_error}</p>`}` },
		{ name: t('feeds.state'), class: 'w-status hide-s', cell: (row) => html`<${FeedState} of=${row} />` },
		{ name: t('feeds.schedule'), class: 'w-part cell-cut hide-s', cell: (row) => html`${scheduleWords(row.schedule)}<br /><span class="muted t12">${t(`feeds.mode_${row.mode}`)}</span>` },
		{ name: t('composer.topic'), class: 'w-part cell-cut drop-1', cell: (row) => html`<bdi>${topics.get(row.topic_id) ?? '…'}</bdi>` },
		{ name: t('feeds.next'), class: 'w-age num muted drop-2', cell: (row) => (row.state === 'active' ? html`<${Time} at=${row.next_at} />` : '–') },
		{ name: t('ui.acts'), hide: true, class: 'cell-acts w-acts', cell: (row) => html`<${Menu} kind="quiet" label=${t('feeds.actsOf', { name: hostOf(row.url) })} items=${[
			{ icon: 'edit', name: t('ui.edit'), run: () => edit(row) },
			{ icon: 'refresh', name: t('feeds.check'), run: () => check(row) },
			row.last_broadcast_id && { icon: 'broadcast', name: t('feeds.last'), href: href(encoded`/broadcasts/${row.last_broadcast_id}`) },
			row.state === 'active' ? { icon: 'pause', name: t('feeds.pause'), run: () => turn(row, 'paused') } : { icon: 'play', name: t('feeds.resume'), run: () => turn(row, 'active') },
			null,
			{ icon: 'trash', name: t('feeds.delete'), danger: true, run: () => remove(row) },
		]} />` },
	]} />`;
}
