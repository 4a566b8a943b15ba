// The types of core.js, for the check in CI.
export { h, Fragment, render, createContext, cloneElement } from '../vendor/node_modules/preact/src/index.js';
export { useState, useEffect, useLayoutEffect, useMemo, useCallback, useRef, useContext, useId, useReducer } from '../vendor/node_modules/preact/hooks/src/index.js';
export { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from '../vendor/node_modules/@preact/signals/dist/signals.js';
export const html: (strings: TemplateStringsArray, ...values: any[]) => any;
