// The signed-in person, and the current team.
import { computed, signal } from './lib/core.js';
import { wear } from './prefs.js';

/** The person, as GET /users/me answers; null: not signed in; undefined: not known yet. */
export const me = signal(/** @type {any} */ (undefined));

/** The id of the team that is looked at; null: none, or all of them to an operator. */
export const team = signal(/** @type {string|null} */ (null));

/** The membership that is in use: {id, name, role}. */
export const membership = computed(() => me.value?.teams.find((/** @type {any} */ t) => t.id === team.value) ?? null);

/** Whether the person has the rights of owners and admins. */
export const mayAdmin = computed(() => membership.value?.role === 'owner' || membership.value?.role === 'admin');

/** Sets the signed-in person. @param {any} person */
export function signedIn(person) {
	const before = stored();
	team.value = (person.teams.find((/** @type {any} */ t) => t.id === before) ?? person.teams[0])?.id ?? null;
	me.value = person;
	wear(person.theme);
}

/** Marks the session as ended; the sign-in page says so. */
export function signedOut() {
	if (!me.value) return;
	try {
		sessionStorage.setItem('mailer.ended', '1');
	} catch { /* then it is not said */ }
	me.value = null;
}

/** Looks at another team. @param {string} id */
export function choose(id) {
	team.value = id;
	try {
		localStorage.setItem('mailer.team', id);
	} catch { /* then the next visit begins with the first team */ }
}

function stored() {
	try {
		return localStorage.getItem('mailer.team');
	} catch {
		return null;
	}
}

/** Whether a session still exists: another one may have replaced it during a request. */
export async function stillSignedIn() {
	try {
		const answer = await fetch('/users/me');
		await answer.text(); // an unread body keeps its connection
		return answer.ok;
	} catch {
		return false;
	}
}
