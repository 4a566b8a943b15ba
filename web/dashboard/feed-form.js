// The dialog of a feed: its address, topic, template, sender and schedule.
import { html } from './lib/core.js';
import { api } from './api.js';
import { sender } from './format.js';
import { language, t } from './i18n.js';
import { encoded } from './paths.js';
import { membership } from './state.js';
import { Check, Input, Select } from './ui/base.js';
import { form } from './ui/audience.js';
import { toast } from './ui/float.js';

const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** The name of a weekday. @param {string} day */
const dayName = (day) => new Intl.DateTimeFormat(language.value, { weekday: 'long', timeZone: 'UTC' }).format(new Date(Date.UTC(2024, 0, 1 + days.indexOf(day))));

/** The parts of a schedule like "weekly friday 09:00", "monthly 1 09:00" or "daily 09:00". @param {string} schedule */
function partsOf(schedule) {
	const [every, ...rest] = schedule.split(' ');
	return { every, day: every === 'weekly' ? rest[0] : 'monday', date: every === 'monthly' ? rest[0] : '1', time: rest[rest.length - 1] ?? '09:00' };
}

/** @param {{every: string, day: string, date: string, time: string}} parts */
const joined = ({ every, day, date, time }) => (every === 'weekly' ? `weekly ${day} ${time}` : every === 'monthly' ? `monthly ${date} ${time}` : `daily ${time}`);

/** A schedule as text. @param {string} schedule */
export function scheduleWords(schedule) {
	const { every, day, date, time } = partsOf(schedule);
	if (every === 'monthly') return t('feeds.monthlyAt', { day: date, time });
	return every === 'weekly' ? t('feeds.weeklyAt', { day: dayName(day), time }) : t('feeds.dailyAt', { time });
}

/** Asks for a new feed, or changes one. Resolves to the feed, or undefined. @param {any} of null: a new one */
export async function editFeed(of) {
	const all = async (path) => (await api.get(path, { limit: 100 })).data;
	const [topics, templates, domains] = await Promise.all(['/topics', '/templates', '/domains'].map(all));
	const usable = templates.filter((/** @type {any} */ row) => row.status === 'published' || row.id === of?.template_id);
	const verified = domains.find((/** @type {any} */ d) => d.status === 'verified')?.name;
	const start = of ? { url: of.url, topic_id: of.topic_id, template_id: of.template_id, from: of.from ?? '', zone: of.zone, mode: of.mode, skip_empty: of.skip_empty, ...partsOf(of.schedule) }
		: { url: '', topic_id: topics[0]?.id ?? '', template_id: usable[0]?.id ?? '', from: verified ? sender(membership.value?.name ?? '', `news@${verified}`) : '', zone: Intl.DateTimeFormat().resolvedOptions().timeZone, mode: 'draft', skip_empty: true, ...partsOf('weekly friday 09:00') };
	const options = (rows) => (rows.length ? rows.map((/** @type {any} */ row) => [row.id, row.name]) : [['', t('ui.none')]]);
	const done = await form({
		title: t(of ? 'feeds.edit' : 'feeds.add'), act: t(of ? 'ui.save' : 'feeds.add'), start,
		fields: (v, set) => html`<${Input} label=${t('feeds.url')} type="url" mono required autofocus=${!of} placeholder="https://blog.example.com/feed.xml" value=${v.url} onInput=${(url) => set({ url })} hint=${t('feeds.urlHint')} />
			<${Select} label=${t('composer.topic')} value=${v.topic_id} options=${options(topics)} onChange=${(topic_id) => set({ topic_id })} />
			<${Select} label=${t('feeds.template')} value=${v.template_id} options=${options(usable)} onChange=${(template_id) => set({ template_id })} hint=${t('feeds.templateHint')} />
			<${Input} label=${t('composer.from')} value=${v.from} onInput=${(from) => set({ from })} hint=${t('feeds.fromHint')} />
			<div class="cols cols--form feed-when"><${Select} label=${t('feeds.schedule')} value=${v.every} options=${['daily', 'weekly', 'monthly'].map((every) => [every, t(`feeds.${every}`)])} onChange=${(every) => set({ every })} />
				${v.every === 'weekly' && html`<${Select} label=${t('feeds.day')} value=${v.day} options=${days.map((day) => [day, dayName(day)])} onChange=${(day) => set({ day })} />`}
				${v.every === 'monthly' && html`<${Input} label=${t('feeds.day')} type="number" min="1" max="31" required value=${v.date} onInput=${(date) => set({ date })} />`}
				<${Input} label=${t('feeds.time')} type="time" required value=${v.time} onInput=${(time) => set({ time })} />
				<${Select} label=${t('feeds.zone')} value=${v.zone} options=${zones(v.zone)} onChange=${(zone) => set({ zone })} /></div>
			<${Select} label=${t('feeds.mode')} value=${v.mode} options=${['draft', 'send'].map((mode) => [mode, t(`feeds.mode_${mode}`)])} onChange=${(mode) => set({ mode })} hint=${t(`feeds.${v.mode}Hint`)} />
			<${Check} label=${t('feeds.skipEmpty')} checked=${v.skip_empty} onChange=${(skip_empty) => set({ skip_empty })} />`,
		send: ({ every, day, date, time, ...v }) => {
			const body = { ...v, url: v.url.trim(), from: v.from.trim() || (of ? null : undefined), schedule: joined({ every, day, date, time }) };
			return of ? api.patch(encoded`/feeds/${of.id}`, body) : api.post('/feeds', body);
		},
	});
	if (done) toast(t(of ? 'feeds.saved' : 'feeds.added'));
	return done;
}

/** Time zones that the browser knows, with one that it does not. @param {string} used */
export const zones = (used) => [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone'), used])].sort().map((zone) => [zone, zone.replaceAll('_', ' ')]);
