// The variants of a draft by language, as they are saved and merged.

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/**
 * The variants of a PATCH: whole ones that changed, and null for those that were taken away.
 * @param {any} variants @param {any} base those that the server has @param {string[]} names of the parts
 */
export function variantsOf(variants, base, names) {
	const whole = (variant) => Object.fromEntries(names.map((name) => [name, variant[name] ?? null]));
	const changed = Object.entries(variants ?? {}).filter(([of, variant]) => !base?.[of] || !same(whole(variant), whole(base[of])));
	return Object.fromEntries([...changed.map(([of, variant]) => [of, whole(variant)]), ...Object.keys(base ?? {}).filter((of) => !variants?.[of]).map((of) => [of, null])]);
}

/** One's own variants over those of another writer; languages that one did not change are the other's. @param {any} theirs @param {any} base what both began with @param {any} own */
export function mergedVariants(theirs, base, own) {
	const out = { ...theirs };
	for (const [of, variant] of Object.entries(own)) if (!same(variant, base?.[of])) out[of] = variant;
	for (const of of Object.keys(base ?? {})) if (!own[of]) delete out[of];
	return out;
}
