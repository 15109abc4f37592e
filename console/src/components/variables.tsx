// Editing environment variables: rows of name and value, and a whole .env file pasted into one of them.
import { t } from '../messages';
import { Button } from './ui';
import { type Pair, parse_env } from './values';

export function Variables({ pairs, onChange }: { pairs: Pair[]; onChange: (pairs: Pair[]) => void }) {
  const change = (index: number, part: Partial<Pair>) =>
    onChange(pairs.map((pair, i) => (i === index ? { ...pair, ...part } : pair)));
  // Several lines pasted into a name are taken as a .env file.
  function paste(event: ClipboardEvent, index: number) {
    const text = event.clipboardData?.getData('text') ?? '';
    if (!/=/.test(text)) return;
    const found = parse_env(text);
    if (!found.length) return;
    event.preventDefault();
    const names = new Set(found.map((pair) => pair.name));
    onChange([...pairs.filter((pair, i) => i !== index && !names.has(pair.name)), ...found]);
  }
  return (
    <div class="stack tight">
      <div class="pairs">
        {pairs.map((pair, index) => (
          <div class="pair" key={index}>
            <input
              class="input mono"
              aria-label={t.variables.name_of(index + 1)}
              placeholder="NAME"
              autocomplete="off"
              spellcheck={false}
              value={pair.name}
              onInput={(e) => change(index, { name: e.currentTarget.value })}
              onPaste={(e) => paste(e, index)}
            />
            <input
              class="input mono value"
              aria-label={t.variables.value_of(pair.name || index + 1)}
              placeholder={t.variables.value}
              autocomplete="off"
              spellcheck={false}
              value={pair.value}
              onInput={(e) => change(index, { value: e.currentTarget.value })}
            />
            <Button
              kinds={['plain']}
              icon="close"
              label={t.variables.remove(pair.name || String(index + 1))}
              onClick={() => onChange(pairs.filter((_, i) => i !== index))}
            />
          </div>
        ))}
      </div>
      <div class="row tight">
        <Button slim icon="plus" onClick={() => onChange([...pairs, { name: '', value: '' }])}>
          {t.variables.add}
        </Button>
        <span class="small faint">{t.variables.paste_hint}</span>
      </div>
    </div>
  );
}
