import type { Catalogue } from './words.js';
export declare const fr: Catalogue;
