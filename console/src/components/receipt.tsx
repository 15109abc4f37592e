// The button that saves the receipt of a movement of points.
import { call } from '../api';
import { save_file } from '../files';
import { t } from '../messages';
import { note } from './notes';
import { Button } from './ui';

async function save(transaction_id: string) {
  try {
    const answer = await call('get', '/api/points/receipts/{transaction_id}', { path: { transaction_id } });
    save_file(`${transaction_id}.receipt`, 'application/jose', answer.receipt + '\n');
    note(answer.proven ? t.statement.receipt_proven : t.statement.receipt_unproven);
  } catch (failure) {
    note((failure as Error).message);
  }
}

export function SaveReceipt({ of }: { of: string }) {
  return <Button slim kinds={['plain']} icon="download" label={t.statement.receipt} onClick={() => void save(of)} />;
}
