// Answers of POSTs that change nothing: plans and previews.
import { useEffect, useState } from './lib/core.js';
import { api, ApiError } from './api.js';

/** Asks again when body or stamp change. @param {string} path @param {any} [body] @param {any} [stamp] @returns {{data: any, error: any, loading: boolean, reload: () => void}} */
export function usePost(path, body, stamp) {
	const [state, setState] = useState(/** @type {any} */ ({ loading: true }));
	const [again, setAgain] = useState(0);
	const key = `${path} ${JSON.stringify(body ?? null)} ${stamp} ${again}`;
	useEffect(() => {
		let current = true;
		setState((was) => ({ ...was, loading: true }));
		api.read(path, body).then((data) => current && setState({ data, loading: false }), (error) => {
			if (!(error instanceof ApiError)) throw error;
			if (current) setState({ error, loading: false });
		});
		return () => {
			current = false;
		};
	}, [key]);
	return { data: state.data, error: state.error, loading: state.loading, reload: () => setAgain((n) => n + 1) };
}
