export function escape(text: string): string;
export function highlighted(code: string, language?: string): string;
