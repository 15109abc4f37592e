// Short notes at the edge of the page, which screen readers announce.
import { signal } from '@preact/signals';
import { t } from '../messages';
import { Icon } from './icons';

const shown_for = 6_000;
const notes = signal<{ id: number; text: string }[]>([]);
let last = 0;

export function note(text: string): void {
  const id = ++last;
  notes.value = [...notes.value.slice(-2), { id, text }];
  setTimeout(() => dismiss(id), shown_for);
}
const dismiss = (id: number) => {
  notes.value = notes.value.filter((one) => one.id !== id);
};

export function Notes() {
  return (
    <div class="notes" role="status" aria-live="polite">
      {notes.value.map(({ id, text }) => (
        <div class="note" key={id}>
          <span>{text}</span>
          <button type="button" aria-label={t.frame.dismiss} onClick={() => dismiss(id)}>
            <Icon name="close" size={16} />
          </button>
        </div>
      ))}
    </div>
  );
}
