export { h, Fragment, render, createContext, cloneElement } from 'preact';
export { useState, useEffect, useLayoutEffect, useMemo, useCallback, useRef, useContext, useId, useReducer } from 'preact/hooks';
export { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from '@preact/signals';
import htm from 'htm';
import { h } from 'preact';
export const html = htm.bind(h);
