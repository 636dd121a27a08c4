# frozen_string_literal: true

KIND = ENV.fetch('CASE', '')
raise 'at load' if KIND == 'load'

RSpec.describe 'Calc' do
  it('adds') { expect(1 + 2).to eq(3) }
  it 'fails (sometimes)' do
    expect(KIND).not_to eq('failing')
  end
  it 'is to be written'
  xit('is skipped') {}
  it 'prints' do
    puts 'a line of its own'
    expect(1).to eq(1)
  end

  describe '#nested' do
    [1, 2].each { |number| it("squares #{number}") { expect(number * number).to be > 0 } }
    it 'raises' do
      raise "two\n\n  lines\n    and more" if KIND == 'failing'
    end

    context 'when deep' do
      it('works') {}
    end
  end

  it('comes after a nested group') {}
end

RSpec.describe 'Other' do
  it 'ends the process' do
    Process.kill(:KILL, Process.pid) if KIND == 'killed'
    exit!(0) if KIND == 'exit'
    Process.kill(:SEGV, Process.pid) if KIND == 'segfault'
  end
  it('comes last') {}
end
