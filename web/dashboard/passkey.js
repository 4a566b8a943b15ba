// Passkeys in the browser (WebAuthn level 3): creation, sign-in and confirmation.
import { api, ApiError } from './api.js';
import { t } from './i18n.js';

const credentials = /** @type {any} */ (globalThis).PublicKeyCredential;

/** Whether this browser has passkeys at this address: they need a host name, and TLS unless it is this machine. */
export const can = () => !!credentials?.parseRequestOptionsFromJSON && !/^[\d.]+$|:/.test(location.hostname);

/** Texts for the browser's errors. @param {any} e */
function refusal(e) {
	if (e instanceof ApiError) return e;
	const name = { NotAllowedError: 'stopped', AbortError: 'stopped', InvalidStateError: 'there', SecurityError: 'host' }[e?.name];
	if (!name) return new ApiError(0, { name: 'passkey', message: t('passkey.failed', { why: String(e?.message ?? e) }) }, '');
	return new ApiError(0, { name: `passkey_${name}`, message: t(`passkey.${name}`, { host: location.hostname }) }, '');
}

/** Signs in, completes a sign-in, or confirms. Resolves to the server's answer. */
export async function use() {
	try {
		const { publicKey } = await api.post('/auth/passkey/options', undefined, { team: null });
		const made = await navigator.credentials.get({ publicKey: credentials.parseRequestOptionsFromJSON(publicKey) });
		return await api.post('/auth/passkey', /** @type {any} */ (made).toJSON(), { team: null });
	} catch (e) {
		throw refusal(e);
	}
}

/** Creates a passkey for the signed-in person. @param {string} name what lists call it */
export async function make(name) {
	try {
		const { publicKey } = await api.post('/users/me/passkeys/options', undefined, { team: null });
		const made = await navigator.credentials.create({ publicKey: credentials.parseCreationOptionsFromJSON(publicKey) });
		return await api.post('/users/me/passkeys', /** @type {any} */ (made).toJSON(), { team: null, query: { name } });
	} catch (e) {
		throw refusal(e);
	}
}
