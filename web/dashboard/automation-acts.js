// What is done with automations in lists and on their pages: enable, duplicate, stop, delete.
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { go } from './router.js';
import { mayAdmin } from './state.js';
import { attempt, confirm } from './ui/float.js';

/** Why the person can't enable or stop an automation, or change one that is enabled; empty: they can. */
export const whyNot = () => (mayAdmin.value ? '' : t('automations.adminsOnly'));

/** Enables or disables an automation. @param {any} of @param {() => any} done */
export async function turn(of, done) {
	const on = of.status !== 'enabled';
	await attempt(() => api.patch(encoded`/automations/${of.id}`, { status: on ? 'enabled' : 'disabled' }), t(on ? 'automations.enabled' : 'automations.disabled', { name: of.name }));
	await done();
}

/** Duplicates an automation, and opens the copy. @param {any} of */
export async function duplicate(of) {
	const made = await attempt(() => api.post(encoded`/automations/${of.id}/duplicate`), t('automations.duplicated'));
	if (made) go(encoded`/automations/${made.id}`);
}

/** How many runs an automation has, or 0 where that can't be read. @param {any} of */
async function runsOf(of) {
	try {
		return (await api.get(encoded`/automations/${of.id}/report`)).running;
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		return 0;
	}
}

/** Stops an automation, after asking. @param {any} of @param {() => any} done */
export async function stop(of, done) {
	const n = await runsOf(of);
	if (!(await confirm({ title: t('automations.stopTitle', { name: of.name }), text: t('automations.stopText', { n }), act: t('automations.stop'), n }))) return;
	await attempt(() => api.post(encoded`/automations/${of.id}/stop`), t('automations.stopped', { n }));
	await done();
}

/** Deletes an automation, after asking. Resolves to whether it was deleted. @param {any} of */
export async function removeAutomation(of) {
	const n = await runsOf(of);
	if (!(await confirm({ title: t('automations.deleteTitle', { name: of.name }), text: t('automations.deleteText', { n }), act: t('automations.delete'), n }))) return false;
	return (await attempt(() => api.del(encoded`/automations/${of.id}`), t('automations.deleted', { name: of.name }))) !== undefined;
}

/** The acts of an automation for a menu. @param {any} of @param {{reload: () => any, removed: () => any}} then */
export function acts(of, { reload, removed }) {
	const why = whyNot();
	return [
		of.status === 'enabled' ? { icon: 'pause', name: t('automations.disable'), disabled: Boolean(why), note: why, run: () => turn(of, reload) } : { icon: 'play', name: t('automations.enable'), disabled: Boolean(why), note: why, run: () => turn(of, reload) },
		{ icon: 'copy', name: t('automations.duplicate'), run: () => duplicate(of) },
		null,
		{ icon: 'x', name: t('automations.stop'), danger: true, disabled: Boolean(why), note: why, run: () => stop(of, reload) },
		{ icon: 'trash', name: t('automations.delete'), danger: true, disabled: of.status === 'enabled' && Boolean(why), note: of.status === 'enabled' ? why : '', run: async () => (await removeAutomation(of)) && removed() },
	];
}
