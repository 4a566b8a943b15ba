// Dialogs for contacts: add, edit, add to a segment, remove.
import { html } from './lib/core.js';
import { api } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { Check, Input, Select } from './ui/base.js';
import { form } from './ui/audience.js';
import { toast } from './ui/float.js';

/** The choice of no segment, and each. @param {any[]} segments @param {string} none */
export const segmentChoice = (segments, none) => [['', none], ...segments.map((s) => [s.id, s.name])];

/** Asks for a new contact. @param {any[]} segments @param {() => any} done */
export async function addContact(segments, done) {
	const made = await form({
		title: t('contacts.add'),
		act: t('contacts.add'),
		start: { email: '', first_name: '', last_name: '', segment: '' },
		fields: (v, set) => html`<${Input} label=${t('contacts.email')} type="email" required autofocus autocomplete="off" value=${v.email} onInput=${(email) => set({ email })} />
			<div class="cols cols--form"><${Input} label=${t('contacts.firstName')} value=${v.first_name} onInput=${(first_name) => set({ first_name })} /><${Input} label=${t('contacts.lastName')} value=${v.last_name} onInput=${(last_name) => set({ last_name })} /></div>
			${segments.length > 0 && html`<${Select} label=${t('contacts.segment')} value=${v.segment} options=${segmentChoice(segments, t('ui.none'))} onChange=${(segment) => set({ segment })} />`}`,
		send: (v) => api.post('/contacts', { email: v.email.trim(), first_name: v.first_name || undefined, last_name: v.last_name || undefined, segments: v.segment ? [v.segment] : undefined }),
	});
	if (!made) return;
	toast(t('contacts.added'), { href: href(encoded`/contacts/${made.id}`), word: t('contacts.show') });
	done();
}

/** A value as it was typed, for a property. @param {string} type @param {string} text */
const typed = (type, text) => (text === '' ? null : type === 'number' && Number.isFinite(Number(text)) ? Number(text) : text);

/**
 * Edits a contact. declared are the team's properties; properties that only the contact has follow.
 * @param {any} contact @param {any[]} declared @param {() => any} done
 */
export async function editContact(contact, declared, done) {
	const has = contact.properties ?? {};
	const keys = [...declared.map((p) => [p.key, p.type]), ...Object.entries(has).filter(([key]) => !declared.some((p) => p.key === key)).map(([key, p]) => [key, /** @type {any} */ (p).type])];
	const before = Object.fromEntries(keys.map(([key]) => [key, has[key] === undefined ? '' : String(has[key].value)]));
	const saved = await form({
		title: t('contacts.edit'),
		act: t('ui.save'),
		start: { email: contact.email, first_name: contact.first_name ?? '', last_name: contact.last_name ?? '', properties: before },
		fields: (v, set) => html`<${Input} label=${t('contacts.email')} type="email" required value=${v.email} onInput=${(email) => set({ email })} hint=${v.email === contact.email ? '' : t('contacts.emailMoves')} />
			<div class="cols cols--form"><${Input} label=${t('contacts.firstName')} value=${v.first_name} onInput=${(first_name) => set({ first_name })} /><${Input} label=${t('contacts.lastName')} value=${v.last_name} onInput=${(last_name) => set({ last_name })} /></div>
			${keys.map(([key, type]) => html`<${Input} key=${key} label=${html`<span class="mono">${key}</span>`} inputmode=${type === 'number' ? 'decimal' : undefined} value=${v.properties[key]} onInput=${(value) => set({ properties: { ...v.properties, [key]: value } })} />`)}`,
		send: (v) => {
			const properties = Object.fromEntries(keys.filter(([key]) => v.properties[key] !== before[key]).map(([key, type]) => [key, typed(type, v.properties[key])]));
			return api.patch(encoded`/contacts/${contact.id}`, {
				email: v.email.trim() === contact.email ? undefined : v.email.trim(),
				first_name: v.first_name || null,
				last_name: v.last_name || null,
				properties: Object.keys(properties).length ? properties : undefined,
			});
		},
	});
	if (saved) done();
}

/** Asks for the segment that contacts are put into by hand. @param {any[]} contacts @param {any[]} segments @param {() => any} done */
export async function toSegment(contacts, segments, done) {
	const n = contacts.length;
	const enabled = (await api.get('/automations', { status: 'enabled', limit: 1 })).data;
	const put = await form({
		title: t('contacts.toSegmentTitle', { n }),
		act: t('contacts.toSegmentAct', { n }),
		start: { segment: segments[0]?.id ?? '', start: false },
		fields: (v, set) => html`<${Select} label=${t('contacts.segment')} value=${v.segment} options=${segments.map((s) => [s.id, s.name])} onChange=${(segment) => set({ segment })} />
			${enabled.length > 0 && html`<${Check} label=${t('automations.startN', { n })} checked=${v.start} onChange=${(start) => set({ start })} />`}`,
		send: async (v) => {
			// Existing contacts are unchanged, and are added to the segment.
			await api.post('/contacts/batch', contacts.map((c) => ({ email: c.email, segments: [v.segment] })), { query: { on_conflict: 'skip', ...(v.start ? { trigger_automations: true } : {}) } });
			return v.segment;
		},
	});
	if (!put) return;
	toast(t('contacts.toSegmentDone', { n, segment: segments.find((s) => s.id === put)?.name ?? '' }), { href: href(encoded`/segments/${put}`), word: t('contacts.show') });
	done();
}

/** Asks whether contacts go, and whether their addresses go from stored mail too. @param {any[]} contacts @param {() => any} done */
export async function removeContacts(contacts, done) {
	const n = contacts.length;
	const gone = await form({
		title: n === 1 ? t('contacts.removeOne', { email: contacts[0].email }) : t('contacts.removeTitle', { n }),
		act: t('contacts.removeAct', { n }),
		kind: 'danger-solid',
		start: { erase: false },
		fields: (v, set) => html`<p>${t('contacts.removeText')}</p><${Check} label=${t('contacts.erase')} checked=${v.erase} onChange=${(erase) => set({ erase })} />${v.erase && html`<p class="muted">${t('contacts.eraseText')}</p>`}`,
		send: (v) => api.post('/contacts/batch/remove', { ids: contacts.map((c) => c.id), ...(v.erase ? { erase: true } : {}) }),
	});
	if (!gone) return;
	toast(t('contacts.removed', { n: gone.data.length }));
	done();
}
